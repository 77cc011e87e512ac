#!/bin/bash
# install-deps.sh [test|guest|browser|aarch64|powerloss] - installs what building needs (with `test`: and what the tests
# need; with `guest`: and what test/verbs/run.sh needs for its guests; with `browser`: only what
# lab/test/cli/test_exp_page.sh looks at a page with; with `aarch64`: and what scripts/aarch64.sh compiles and runs with;
# with `powerloss`: and what scripts/powerloss.sh mounts its file system with), if it is missing. Debian and its kin; as
# root or through sudo. Elsewhere it says what is missing.
set -eu

missing_packages() {
    local kind=$1
    if [ "$kind" = browser ]; then
        command -v chromium >/dev/null || echo chromium
        return 0
    fi
    command -v gcc >/dev/null || echo gcc libc6-dev
    command -v cmake >/dev/null || echo cmake
    command -v ninja >/dev/null || echo ninja-build
    command -v pkg-config >/dev/null || echo pkg-config
    have_library libxxhash || echo libxxhash-dev
    have_library jansson || echo libjansson-dev
    have_library libsodium || echo libsodium-dev
    have_library jemalloc || echo libjemalloc-dev
    have_library libibverbs || echo libibverbs-dev
    have_library librdmacm || echo librdmacm-dev
    have_library libedit || echo libedit-dev
    have_library libmicrohttpd || echo libmicrohttpd-dev
    have_library libcurl || echo libcurl4-openssl-dev
    have_library sqlite3 || echo libsqlite3-dev
    [ "$kind" != build ] || return 0
    have_library cmocka || echo libcmocka-dev
    command -v clang >/dev/null || echo clang
    command -v clang-format >/dev/null || echo clang-format
    command -v g++ >/dev/null || echo g++
    command -v python3 >/dev/null || echo python3
    command -v sqlite3 >/dev/null || echo sqlite3
    have_library lmdb || echo liblmdb-dev # this and the next two: what cellar-peers runs Cellar beside
    have_library rocksdb || echo librocksdb-dev
    have_library wiredtiger || echo libwiredtiger-dev
    command -v etcd >/dev/null || echo etcd-server
    command -v spin >/dev/null || echo spin
    command -v valgrind >/dev/null || echo valgrind
    [ -e /usr/include/sys/sdt.h ] || compgen -G "/usr/include/*/sys/sdt.h" >/dev/null || echo systemtap-sdt-dev
    command -v dh >/dev/null || echo debhelper
    command -v dpkg-buildpackage >/dev/null || echo dpkg-dev
    command -v lintian >/dev/null || echo lintian
    if [ "$kind" = aarch64 ]; then
        command -v aarch64-linux-gnu-gcc >/dev/null || echo gcc-aarch64-linux-gnu
        command -v qemu-aarch64 >/dev/null || command -v qemu-aarch64-static >/dev/null || echo qemu-user
    fi
    if [ "$kind" = powerloss ]; then
        have_library fuse3 || echo libfuse3-dev
        command -v fusermount3 >/dev/null || echo fuse3
    fi
    [ "$kind" = guest ] || return 0
    command -v qemu-system-x86_64 >/dev/null || echo qemu-system-x86
    command -v cpio >/dev/null || echo cpio
    command -v busybox >/dev/null || echo busybox-static
    command -v rdma >/dev/null || echo iproute2
    command -v xz >/dev/null || echo xz-utils
    ls /usr/lib/*/libibverbs/librxe-*.so >/dev/null 2>&1 || echo ibverbs-providers
}

have_library() { command -v pkg-config >/dev/null && pkg-config --exists "$1"; }

read -r -d '' -a packages < <(missing_packages "${1:-build}") || true
[ ${#packages[@]} -gt 0 ] || exit 0

if ! command -v apt-get >/dev/null; then
    echo "install-deps: no apt-get here; install what Debian calls: ${packages[*]}" >&2
    exit 2
fi
as_root=
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || { echo "install-deps: neither root nor sudo; as root: apt-get install ${packages[*]}" >&2; exit 2; }
    as_root=sudo
fi
echo "install-deps: installing ${packages[*]}"
$as_root apt-get update -qq
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "${packages[@]}" >/dev/null
