#!/bin/bash
# fresh_root.sh FOLDER - installs the Debian packages of FOLDER (libcellar0, libcellar-dev, cellar) with apt in a fresh
# Debian that debootstrap makes, and uses them there: the program, the user, a program built with the library,
# and the unit started by systemd. Nightly: `test_packages.sh fresh` calls it. As root, with a network; else skipped (77).
set -u
packages=$(realpath "${1:?}")
[ "$(id -u)" -eq 0 ] && command -v debootstrap >/dev/null || { echo "needs root and debootstrap: skipped"; exit 77; }
folder=$(mktemp -d) || exit 2
trap 'rm -rf "$folder"' EXIT
root=$folder/root
inside() { timeout -k 5 600 chroot "$root" env DEBIAN_FRONTEND=noninteractive HOME=/root sh -c "$1" </dev/null; }
timeout -k 5 900 debootstrap --variant=minbase bookworm "$root" >"$folder/log" 2>&1 || { tail -3 "$folder/log"; echo "no fresh Debian can be had here: skipped"; exit 77; }
mkdir "$root/packages"
cp "$packages"/*.deb "$root/packages"
rm -f "$root"/packages/*dbgsym*
cp /etc/resolv.conf "$root/etc/resolv.conf"
cp /etc/apt/apt.conf.d/*proxy* "$root/etc/apt/apt.conf.d/" 2>/dev/null
failures=0
try() { # WHAT COMMAND TEXT: the command succeeds there, and says that
    inside "$2" >"$folder/out" 2>&1 && grep -qE -- "$3" "$folder/out" && return
    echo "$1: $(tail -5 "$folder/out")"
    failures=$((failures + 1))
}

# systemd itself starts the unit, in a container: transactions on its memory node, as its user; its end in order.
unit_starts() {
    command -v systemd-nspawn >/dev/null || { echo "no systemd-nspawn: the unit is not started"; return; }
    mkdir -p "$root/etc/cellar"
    echo 'ARGUMENTS=--socket /run/cellar/memnode --bytes 64M' >"$root/etc/cellar/memnode.env"
    cat >"$root/tried.sh" <<'S'
set -eu
cd /tmp
systemctl start cellar-memnode
for try in $(seq 100); do [ ! -S /run/cellar/memnode ] || break; sleep 0.1; done
systemctl show -p User -p ActiveState -p SubState cellar-memnode
runuser -u cellar -- cellar bench smallbank --accounts 100 --txns 1000 --memnodes /run/cellar/memnode
systemctl stop cellar-memnode
systemctl show -p ActiveState -p ExecMainCode -p ExecMainStatus cellar-memnode
[ ! -e /run/cellar/memnode ]
echo 'ARGUMENTS=--fabric verbs --address 127.0.0.1 --bytes 1M' >/etc/cellar/memnode.env
systemctl start cellar-memnode
for try in $(seq 100); do systemctl is-failed -q cellar-memnode && break; sleep 0.1; done
journalctl -o cat -u cellar-memnode
echo all of it
S
    printf '[Service]\nType=oneshot\nExecStart=/bin/sh -c "sh -x /tried.sh >/tried 2>&1"\nExecStopPost=systemctl poweroff\n' \
        >"$root/etc/systemd/system/tried.service"
    printf '[Timer]\nOnBootSec=1\n[Install]\nWantedBy=timers.target\n' >"$root/etc/systemd/system/tried.timer"
    inside 'systemctl enable tried.timer' >"$folder/out" 2>&1
    timeout -k 5 300 systemd-nspawn -q -D "$root" --keep-unit --register=no --boot </dev/null >"$folder/boot" 2>&1
    if ! grep -qs 'Reached target.*basic.target' "$folder/boot"; then
        echo "systemd does not boot here: the unit is not started: $(tail -3 "$folder/boot")"
        return
    fi
    for text in 'User=cellar' 'ActiveState=active' 'SubState=running' 'all [0-9]+ checks hold' 'ActiveState=inactive' \
        'ExecMainStatus=0' 'cellar memnode: (this machine has no RDMA device|127.0.0.1 is no address).*' 'all of it'; do
        try "the unit: $text" "cat /tried" "^ *($text)"
    done
}

inside 'apt-get update -qq && apt-get install -y --no-install-recommends /packages/*.deb gcc libc6-dev pkg-config systemd-sysv dbus' >"$folder/log" 2>&1 ||
    { tail -20 "$folder/log"; exit 1; }
try "the program" 'cellar bench smallbank --accounts 100 --txns 1000' "all [0-9]+ checks hold"
try "a pool" 'printf "create table t rows 10 id:u64:key n:i32\ninsert t 1 n=5\nget t 1\n" | cellar shell /tmp/pool --create 16M' '^1: n=5$'
try "the user" 'getent passwd cellar' '^cellar:'
unit_starts
try "an embedder" 'f=/usr/share/doc/libcellar-dev/examples/counter.c; [ -e $f ] || gunzip $f.gz; cc $f -pthread $(pkg-config --cflags --libs cellar) -o /tmp/counter && /tmp/counter && echo it runs' 'it runs'
inside 'apt-get remove -y cellar libcellar-dev libcellar0' >"$folder/out" 2>&1 || { echo "removing: $(tail -5 "$folder/out")"; failures=$((failures + 1)); }
[ ! -e "$root/usr/bin/cellar" ] || { echo "the program is still there"; failures=$((failures + 1)); }
[ $failures -eq 0 ]
