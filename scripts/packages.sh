# The Debian packages that Cameo needs, in one place. Sourced by quickstart and check.

# To build the compiler and to compile models with it.
build_packages="gcc libc6-dev cmake ninja-build pkg-config clang-19 llvm-19-dev libclang-19-dev
libprotobuf-c-dev libprotobuf-dev protobuf-c-compiler protobuf-compiler libjansson-dev libcyaml-dev libyaml-dev zlib1g-dev libopenblas-dev"
# To test it; models that decode images are compiled with the libraries of the formats.
test_packages="g++ ccache libcmocka-dev llvm-19-tools libclang-rt-19-dev libjpeg62-turbo-dev libpng-dev libwebp-dev libtiff-dev libopenjp2-7-dev python3 python3-venv universal-ctags"

# Installs those of the given packages that are missing; through sudo where we are not root.
install_packages() {
    missing=""
    for package in "$@"; do
        dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q "install ok installed" || missing="$missing $package"
    done
    [ -n "$missing" ] || return 0
    as_root=""
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null || { echo "these packages are missing, and there is no sudo:$missing" >&2; exit 2; }
        as_root=sudo
    fi
    echo "installing:$missing"
    $as_root apt-get update -q >/dev/null
    # shellcheck disable=SC2086
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $missing >/dev/null
}
