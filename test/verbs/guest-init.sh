#!/bin/busybox sh
# guest-init.sh - the first process of a guest: modules, an address, soft-RoCE; then the plan.
export PATH=/bin:/t LD_LIBRARY_PATH=/usr/lib/x86_64-linux-gnu:/lib/x86_64-linux-gnu HOME=/tmp
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/shm
mount -t tmpfs tmpfs /dev/shm
mount -t tmpfs tmpfs /tmp
mount -t tmpfs tmpfs /run
for module in /lib/modules/*.ko; do insmod $module || echo "guest: cannot load $module"; done
for word in $(cat /proc/cmdline); do case $word in guest=*) export ${word} ;; esac; done
/t/ip link set lo up
if [ -e /sys/class/net/eth0 ]; then # a second guest is on the other end
    device=eth0
    address=10.7.0.1
    [ "$guest" = guest2 ] && address=10.7.0.2
else
    device=dummy0
    address=10.7.0.1
    /t/ip link add dummy0 type dummy 2>/dev/null
fi
/t/ip addr add $address/24 dev $device
/t/ip link set $device up mtu 1500
/t/rdma link add rxe0 type rxe netdev $device || echo "guest: no soft-RoCE"
ulimit -l unlimited
ulimit -c unlimited
echo /tmp/core >/proc/sys/kernel/core_pattern
chmod 666 /dev/infiniband/* # as udev's rules of rdma-core do
echo 'root:x:0:0::/:/bin/sh' >/etc/passwd
echo 'nobody:x:65534:65534::/:/bin/sh' >>/etc/passwd
chmod 1777 /tmp
read up _ </proc/uptime
echo "guest: $(uname -r), $address, up $up s"
sh /t/plan
echo "GUEST-RESULT $?"
poweroff -f
