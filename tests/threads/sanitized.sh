#!/bin/sh
# sanitized.sh CAMEO ROOT WORK: the pool's own test and two contexts that share a pool, under the thread sanitizer.
set -e
cameo=$1 root=$2 work=$3/sanitized
rm -rf "$work" && mkdir -p "$work"
flags="-std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -g -O1 -fsanitize=thread"
# shellcheck disable=SC2086
clang-19 $flags -I "$root" "$root/tests/unit/test_pool.c" -o "$work/pool" -lcmocka
"$work/pool"
"$cameo" compile "$root/tests/threads/shared.onnxtxt" -o "$work/shared.c" --grain 1 --threads 2
# shellcheck disable=SC2086
clang-19 $flags -I "$work" "$work/shared.c" "$root/tests/threads/shared.c" -o "$work/shared" -lm
"$work/shared"
