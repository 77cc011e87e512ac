#!/bin/bash
# guest.sh - sourced by run.sh: a guest of QEMU (emulated, no KVM) with Debian's own kernel and soft-RoCE. The kernel package is unpacked, never
# installed. Nothing here needs root, and nothing of the host's network is touched.
#
#   guest_need              the tools and the kernel package; 1 and a reason on stdout where they cannot be had
#   guest_root PROGRAM...   the guest's file system: these programs, what they load, and guest-init.sh
#   guest_run NAME CPUS SECONDS PLAN [qemu options...]   boots it, runs the shell script PLAN in it; its output goes to NAME.log
# The working folder is the current one.

guest_modules="rdma_rxe ib_uverbs rdma_ucm dummy e1000"
guest_libs=/usr/lib/x86_64-linux-gnu

guest_need() {
    local tool package deb
    [ "$(uname -m)" = x86_64 ] || { echo "the guest is for x86-64"; return 1; }
    for tool in qemu-system-x86_64 cpio busybox xz dpkg apt-get rdma; do
        command -v $tool >/dev/null || { echo "$tool is not installed"; return 1; }
    done
    ls $guest_libs/libibverbs/librxe-*.so >/dev/null 2>&1 || { echo "ibverbs-providers is not installed"; return 1; }
    [ -f vmlinux ] && return 0
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
}

guest_run() {
    local name=$1 cpus=$2 seconds=$3 plan=$4
    shift 4
    cp "$plan" root/t/plan
    (cd root && find . | cpio -o -H newc -R 0:0 2>/dev/null | gzip -1) >"$name.initrd"
    # -M q35 with nothing by default. Not -erms: the guest's kernel would copy bytewise, one emulated byte at a time.
    timeout -s KILL "$seconds" qemu-system-x86_64 -M q35 -accel tcg,thread=multi -cpu max,-erms,-fsrm -smp "$cpus" -m 1024 \
        -display none -nodefaults -serial stdio -monitor none -no-reboot -kernel vmlinux -initrd "$name.initrd" \
        -append "console=ttyS0 panic=-1 quiet mitigations=off nokaslr guest=$name" "$@" </dev/null 2>&1 | tr -d '\r' >"$name.log" || true
    rm -f "$name.initrd"
}
