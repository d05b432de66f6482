#!/usr/bin/env bash
# Proves the two commands in a bare Debian 12: debootstrap, a clean clone, ./quickstart, ./check.
#
#     sudo tests/fresh/run.sh FOLDER [quickstart|check ...]
#
# FOLDER is made (about 3 GB) and kept. The mirror, the package manager's and pip's configuration are the host's.
set -euo pipefail
root=${1:?usage: run.sh FOLDER [quickstart|check ...]}
shift
commands=("${@:-quickstart}")
source=$(cd "$(dirname "$0")/../.." && pwd)
mirror=$(sed -n 's/^deb \(\[[^]]*\] \)\?\([^ ]*\) .*/\2/p; s/^URIs: *\([^ ]*\).*/\1/p' /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | head -n 1 || true)

if [ ! -e "$root/etc/debian_version" ]; then
    debootstrap --variant=minbase --include=ca-certificates bookworm "$root" "${mirror:-http://deb.debian.org/debian}"
fi
for path in /etc/apt /etc/resolv.conf /etc/pip.conf /etc/ssl/certs /usr/local/share/ca-certificates; do
    if [ -e "$path" ]; then
        mkdir -p "$root$(dirname "$path")"
        cp -a "$path" "$root$(dirname "$path")/"
    fi
done
rm -rf "$root/cameo"
git clone -q "$source" "$root/cameo"
for command in "${commands[@]}"; do
    echo "== ./$command in a bare Debian $(cat "$root/etc/debian_version")"
    # In a mount namespace of its own, so that nothing stays mounted however this ends.
    unshare --mount sh -c 'mount -t proc proc "$1/proc" && exec chroot "$@"' mount "$root" \
        env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb \
        ${PIP_INDEX_URL:+PIP_INDEX_URL="$PIP_INDEX_URL"} ${http_proxy:+http_proxy="$http_proxy"} \
        ${https_proxy:+https_proxy="$https_proxy"} bash -c "cd /cameo && time ./$command"
done
