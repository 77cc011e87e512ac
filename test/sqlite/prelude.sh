# prelude.sh NEEDS... - what the scripts of this folder begin with: source it behind `set -u`. It skips the test where
# cellar.so cannot be loaded, or one of what it needs is not there: sqlite3, node, or python, which is then in $python.
#
#   $build, $here, $cellar   this build, this folder, what SQLite is to load
#   the current folder is an empty one of the test's own; removed in the end
#   fail TEXT                prints it, and ends the test
build=${CELLAR_BUILD:?}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cellar=$build/cellar
! nm -D "$cellar.so" 2>/dev/null | grep -qE '__(asan|tsan|ubsan)' || exit 77 # none of these programs is built so
loads_extensions='import sqlite3; sqlite3.connect(":memory:").enable_load_extension(True)'
for need in "$@"; do
    case $need in
    sqlite3) command -v sqlite3 >/dev/null || exit 77 ;;
    node) command -v node >/dev/null && node -e 'require("better-sqlite3")(":memory:")' 2>/dev/null || exit 77 ;;
    python)
        for python in python3 /usr/bin/python3 ""; do "$python" -c "$loads_extensions" 2>/dev/null && break; done
        [ -n "$python" ] || exit 77
        ;;
    esac
done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1

fail() {
    echo "$*"
    exit 1
}
