#!/bin/sh
# boot.sh FOLDER SHARE: becomes systemd, as process 1 of the namespaces in which it is started. Its root is this machine's, seen through
# an overlay in memory, with users, homes and units of its own; SHARE is /share in there. FOLDER is an empty one to work in.
set -eu
folder=$1 share=$2 r=$1/root
mount --make-rprivate /
mount -t tmpfs tmpfs "$folder"
mkdir "$folder/upper" "$folder/work" "$r"
mount -t overlay overlay -o "lowerdir=/,upperdir=$folder/upper,workdir=$folder/work" "$r"

mkdir -p "$r/share" "$r/oldroot" "$r/var/log/journal"
tr -d - </proc/sys/kernel/random/uuid >"$r/etc/machine-id"
# Nothing of this machine's own is to start in there.
for link in "$r"/etc/systemd/system/*.wants/* "$r"/etc/systemd/user/*.wants/*; do
	case $link in *dbus* | *pipewire* | *wireplumber*) ;; *) rm -f "$link" ;; esac
done
for unit in getty.target cron.service ssh.service e2scrub_reap.service systemd-networkd.service systemd-resolved.service \
	systemd-timesyncd.service systemd-udevd.service postgresql.service redis-server.service; do
	ln -sf /dev/null "$r/etc/systemd/system/$unit"
done

mount --bind "$share" "$r/share"
mount -t proc proc "$r/proc"
mount -t sysfs -o ro sysfs "$r/sys"
mount -t cgroup2 none "$r/sys/fs/cgroup"
mount -t tmpfs -o mode=755 tmpfs "$r/dev"
mkdir "$r/dev/pts" "$r/dev/shm"
node() { mknod -m 666 "$r/dev/$1" c "$2" "$3"; }
node null 1 3 && node zero 1 5 && node full 1 7 && node random 1 8 && node urandom 1 9 && node tty 5 0
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts "$r/dev/pts"
ln -s pts/ptmx "$r/dev/ptmx"
ln -s /proc/self/fd "$r/dev/fd"
mount -t tmpfs -o mode=755 tmpfs "$r/run"
mount -t tmpfs -o mode=1777 tmpfs "$r/tmp"
hostname systemd-test
cd "$r"
pivot_root . oldroot
umount -l /oldroot
exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin container=unshare TERM=dumb \
	/lib/systemd/systemd --system --unit=multi-user.target systemd.unified_cgroup_hierarchy=1
