#!/bin/bash
# guest.sh - sourced by run.sh: guests of QEMU with Debian's own kernel and soft-RoCE. The kernel package is unpacked,
# never installed. Nothing here needs root, and nothing of the host's network is touched.
#
#   guest_need              the tools and the kernel package; 1 and a reason on stdout where they cannot be had
#   guest_root PROGRAM...   the guests' file system: these programs, what they load, and guest-init.sh
#   guest_boot NAME CPUS SECONDS PLAN [qemu options...] boots it in the background, runs the shell script PLAN in it;
#   its output goes to
#                           NAME.log, its process is guest_pid, and after SECONDS it is killed
#   guest_wait NAME PID     shows that output as it comes, until the guest has ended
# The working folder is the current one.

guest_modules="rdma_rxe ib_uverbs rdma_ucm dummy e1000"
guest_libs=/usr/lib/x86_64-linux-gnu

guest_need() {
    local tool
    [ "$(uname -m)" = x86_64 ] || { echo "the guest is for x86-64"; return 1; }
    for tool in qemu-system-x86_64 cpio busybox xz dpkg apt-get rdma; do
        command -v $tool >/dev/null || { echo "$tool is not installed"; return 1; }
    done
    ls $guest_libs/libibverbs/librxe-*.so >/dev/null 2>&1 || { echo "ibverbs-providers is not installed"; return 1; }
    [ -f vmlinux ] || guest_kernel
}

guest_kernel() {
    local package deb
    package=$(apt-cache depends linux-image-amd64 2>/dev/null | sed -n 's/.*Depends: \(linux-image-[^ ]*-amd64\).*/\1/p' | head -n 1)
    [ -n "$package" ] || { echo "apt knows no linux-image-amd64"; return 1; }
    timeout -s KILL 120 apt-get download "$package" >apt.log 2>&1 || { echo "$package cannot be downloaded"; return 1; }
    deb=$(ls "$package"_*.deb)
    rm -rf boot lib
    dpkg --fsys-tarfile "$deb" | tar -x ./boot ./lib/modules || { echo "$deb cannot be unpacked"; return 1; }
    guest_vmlinux boot/vmlinuz-* && rm -f "$deb"
}

# QEMU starts an uncompressed kernel directly, which saves its emulated processor the unpacking.
guest_vmlinux() {
    local at
    for at in $(grep -abo $'\xfd7zXZ' "$1" | cut -d: -f1); do
        tail -c +$((at + 1)) "$1" | xz -dc --single-stream >vmlinux.new 2>/dev/null || true
        if [ "$(head -c 4 vmlinux.new | tail -c 3)" = ELF ]; then
            mv vmlinux.new vmlinux
            return 0
        fi
    done
    echo "no compressed kernel in $1"
    return 1
}

# The modules and what they depend on, in the order to load them.
guest_module_files() {
    local name=$1 file dep
    file=$(find lib/modules -name "$name.ko" -o -name "${name//_/-}.ko" | head -n 1)
    [ -n "$file" ] || return 0
    for dep in $(modinfo_depends "$file"); do guest_module_files "$dep"; done
    echo "$file"
}
modinfo_depends() { tr '\0' '\n' <"$1" | sed -n 's/^depends=//p' | tr ',' ' ' | head -n 1; }

# archive FOLDER FILE...: on stdout, for the kernel to unpack.
guest_archive() { (cd "$1" && shift && find "$@" | cpio -o -H newc -R 0:0 2>/dev/null | gzip -1); }

guest_root() {
    local file lib number=10
    rm -rf root
    mkdir -p root/{bin,dev,proc,sys,tmp,run,t,etc/libibverbs.d,lib/modules,lib64} root$guest_libs/libibverbs root/lib/x86_64-linux-gnu
    cp "$(command -v busybox)" root/bin/
    cp -L $guest_libs/libibverbs/librxe-*.so root$guest_libs/libibverbs/
    cp /etc/libibverbs.d/rxe.driver root/etc/libibverbs.d/
    cp -L /lib/x86_64-linux-gnu/libgcc_s.so.1 root/lib/x86_64-linux-gnu/ # opened by name when a thread ends
    cp -L "$@" "$(command -v ip)" "$(command -v rdma)" root/t/
    for file in root/t/* root$guest_libs/libibverbs/*; do
        for lib in $(ldd "$file" 2>/dev/null | awk '/=> \//{print $3} /^\t\/lib64/{print $1}'); do
            [ -e "root$lib" ] || { mkdir -p "root$(dirname "$lib")"; cp -L "$lib" "root$lib"; }
        done
    done
    for file in $(for module in crc32_generic crc32c_generic $guest_modules; do guest_module_files $module; done | awk '!seen[$0]++'); do
        cp "$file" "root/lib/modules/$number-$(basename "$file")"
        number=$((number + 1))
    done
    cp "$here/guest-init.sh" root/init
    chmod +x root/init
    guest_archive root . >root.initrd
}

# What runs the guest: a /dev/kvm may be there and not be good for it, where the processor has no means of its own.
# Without -erms: the guest's kernel would copy bytewise, one emulated byte at a time.
guest_machine() {
    if [ -w /dev/kvm ] && grep -qwE 'vmx|svm' /proc/cpuinfo; then
        echo "-accel kvm -cpu host"
    else
        echo "-accel tcg,thread=multi -cpu max,-erms,-fsrm"
    fi
}

guest_boot() {
    local name=$1 cpus=$2 seconds=$3 plan=$4
    shift 4
    rm -rf "$name.plan"
    mkdir -p "$name.plan/t"
    cp "$plan" "$name.plan/t/plan"
    { cat root.initrd; guest_archive "$name.plan" t/plan; } >"$name.initrd"
    : >"$name.log"
    rm -f "$name.core" "$name.core.gz"
    # no_timer_check: else a kernel that is not run in time takes its timer for broken. cryptomgr.notests: they have
    # hung on emulated processors.
    # shellcheck disable=SC2046 # options, one word each
    timeout -s KILL "$seconds" qemu-system-x86_64 -M q35 $(guest_machine) -smp "$cpus" -m "${guest_megabytes:-1024}" \
        -display none -nodefaults -serial "file:$name.log" -serial "file:$name.core.gz" -monitor none -no-reboot -kernel vmlinux -initrd "$name.initrd" \
        -append "console=ttyS0 panic=-1 quiet mitigations=off nokaslr no_timer_check cryptomgr.notests guest=$name" "$@" </dev/null >"$name.qemu" 2>&1 &
    guest_pid=$!
}

# The stacks of what died in it, where there is a gdb.
guest_core() {
    local program
    program=$(sed -n 's,^GUEST-CORE \([a-z_]*\).*,\1,p' "$1.log" | head -n 1)
    [ -n "$program" ] && gunzip -c "$1.core.gz" >"$1.core" 2>/dev/null
    [ -s "$1.core" ] || return
    command -v gdb >/dev/null || { echo "the core of $program is in $PWD/$1.core"; return; }
    gdb -batch -nx -ex "set sysroot $PWD/root" -ex "thread apply all backtrace 16" "root/t/$program" "$1.core" 2>/dev/null | grep -E "^(Thread|#)"
    rm -f "$1.core"
}

guest_wait() {
    tail --pid="$2" -s 0.3 -n +1 -f "$1.log" | sed -u 's,\r$,,'
    wait "$2"
    local status=$?
    [ -s "$1.qemu" ] && cat "$1.qemu"
    guest_core "$1"
    [ $status -eq 0 ] || echo "the guest $1 was killed or failed: exit $status (137: it took longer than it may)"
    return $status
}
