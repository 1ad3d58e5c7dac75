#!/usr/bin/env bash
# Builds what the virtual machine boots: Debian's kernel, a small initrd and a root image with systemd and both sound
# servers. Everything comes from the machine's own apt sources; nothing here needs root where user namespaces work.
#
#   build.sh key       prints the name of the build that the current sources give
#   build.sh make DIR  builds vmlinux, initrd.gz and root.img into DIR (an empty folder)
#
# The key hashes this file, so everything that shapes a build stands here or in the files named in key.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# depmod and modprobe live in sbin, which an ordinary user's PATH lacks.
export PATH=$PATH:/usr/sbin:/sbin

# What the initrd needs to reach the root image and the shared folder.
boot_modules=(virtio_pci virtio_blk ext4 9pnet_virtio 9p)
# What the emulated devices need, and nothing more: udev may load only what is in the image.
device_modules=(vhci-hcd uhid snd-usb-audio usbhid hid-generic uvcvideo)

packages=(
	systemd-sysv libpam-systemd dbus-user-session udev kmod
	sudo                     # for the tests that install something
	alsa-utils v4l-utils acl # the second opinion of the tests
	pipewire wireplumber pipewire-pulse
	pulseaudio pulseaudio-utils
)

# What would cost time at each boot for nothing: logins, maintenance, and mounts and modules that are not there.
masked_units=(
	getty.target
	apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer e2scrub_reap.service fstrim.timer
	systemd-update-utmp.service systemd-update-utmp-runlevel.service systemd-journal-flush.service
	systemd-random-seed.service systemd-sysusers.service systemd-tmpfiles-clean.timer
	proc-sys-fs-binfmt_misc.automount dev-hugepages.mount dev-mqueue.mount sys-kernel-debug.mount sys-kernel-tracing.mount
	modprobe@configfs.service modprobe@dm_mod.service modprobe@drm.service modprobe@efi_pstore.service
	modprobe@fuse.service modprobe@loop.service
	alsa-restore.service alsa-state.service
)

die() {
	echo "$0: $*" >&2
	exit 1
}

# linux-image-amd64 is an empty package that depends on the current kernel.
kernel_package() {
	local package
	package=$(apt-cache depends linux-image-amd64 2>/dev/null | awk '$1 == "Depends:" && $2 ~ /^linux-image-[0-9]/ { print $2; exit }')
	[[ -n $package ]] || die "no linux-image-amd64 in this machine's apt sources: run it on Debian amd64, after apt-get update"
	echo "$package"
}

kernel_version() {
	apt-cache show --no-all-versions "$1" | awk '$1 == "Version:" { print $2 }'
}

codename() {
	sed -n "s/^VERSION_CODENAME=//p" /etc/os-release
}

key() {
	local package version
	package=$(kernel_package)
	version=$(kernel_version "$package")
	{
		echo "$package $version $(codename)"
		cat "$here"/{build.sh,init-initrd,guest.service,guest-session}
	} | sha256sum | cut -c1-16
}

# Debian's entries of the machine's own apt configuration, as one-line sources. Other vendors' archives stay out.
debian_sources() {
	# shellcheck disable=SC2016 # apt expands these, not the shell
	apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' 'Origin: Debian' | sort -u
}

# unpack_kernel PACKAGE DIR: the package's files, without installing it.
unpack_kernel() {
	mkdir "$2"
	# As root, apt would otherwise drop to a user that cannot write here.
	(cd "$2" && apt-get -qq -o APT::Sandbox::User=root download "$1")
	dpkg-deb -x "$2"/linux-image-*.deb "$2"
	rm "$2"/linux-image-*.deb
}

# extract_vmlinux BZIMAGE OUT: the uncompressed kernel, which QEMU boots directly (PVH): unpacking it in the emulated
# machine would cost three seconds at each boot.
extract_vmlinux() {
	local offset
	# The first xz header may be a false hit in the loader's own code, so the result is checked.
	while IFS=: read -r offset _; do
		tail -c +"$((offset + 1))" "$1" | xz -dc --single-stream >"$2" 2>/dev/null || true
		if [[ $(head -c 4 "$2" | tail -c 3) == ELF ]]; then
			return
		fi
	done < <(LC_ALL=C grep -abo $'\xfd7zXZ' "$1")
	die "no xz-compressed kernel in $1"
}

# module_files TREE RELEASE MODULE...: the files to load, dependencies first, each once.
module_files() {
	local tree=$1 release=$2 module
	shift 2
	for module in "$@"; do
		modprobe -d "$tree" -S "$release" --show-depends "$module"
	done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }'
}

# make_module_tree TREE RELEASE OUT: a /lib/modules with the wanted modules only.
make_module_tree() {
	local tree=$1 release=$2 out=$3 file
	module_files "$tree" "$release" "${boot_modules[@]}" "${device_modules[@]}" | while read -r file; do
		install -D -m 644 "$file" "$out${file#"$tree"}"
	done
	cp "$tree/lib/modules/$release"/modules.{order,builtin,builtin.modinfo} "$out/lib/modules/$release/"
	depmod -b "$out" "$release"
}

# make_initrd TREE RELEASE OUT
make_initrd() {
	local root=$work/initrd file
	mkdir -p "$root"/{bin,dev,proc,sys,root,modules}
	cp "$(command -v busybox)" "$root/bin/busybox"
	install -m 755 "$here/init-initrd" "$root/init"
	module_files "$1" "$2" "${boot_modules[@]}" | while read -r file; do
		cp "$file" "$root/modules/"
		basename "$file" >>"$root/modules/order"
	done
	(cd "$root" && find . | cpio -o -H newc --quiet -R 0:0) | gzip -1 >"$3"
}

# make_root MODULES OUT
make_root() {
	local include
	include=$(IFS=, && echo "${packages[*]}")
	# shellcheck disable=SC2016 # the hooks' $1 is the new root
	debian_sources | mmdebstrap --quiet --mode=auto --format=ext2 --variant=minbase --include="$include" \
		--dpkgopt='path-exclude=/usr/share/doc/*' \
		--dpkgopt='path-exclude=/usr/share/man/*' \
		--dpkgopt='path-exclude=/usr/share/locale/*' \
		--customize-hook='chroot "$1" useradd --create-home --uid 1000 --shell /bin/bash tester' \
		--customize-hook='echo "tester ALL=(root) NOPASSWD: ALL" >"$1/etc/sudoers.d/tester"' \
		--customize-hook='echo guest >"$1/etc/hostname" && echo 127.0.0.1 localhost guest >"$1/etc/hosts"' \
		--customize-hook="copy-in '$1/lib/modules' /usr/lib" \
		--customize-hook="echo ${device_modules[*]} | tr ' ' '\n' >\"\$1/etc/modules\"" \
		--customize-hook='mkdir "$1/share" && echo "share /share 9p trans=virtio,version=9p2000.L,msize=1048576" >"$1/etc/fstab"' \
		--customize-hook="upload '$here/guest-session' /usr/local/bin/guest" \
		--customize-hook="upload '$here/guest.service' /etc/systemd/system/guest.service" \
		--customize-hook='chmod 755 "$1/usr/local/bin/guest" && chroot "$1" systemctl --quiet enable guest.service' \
		--customize-hook="chroot \"\$1\" systemctl --quiet mask ${masked_units[*]}" \
		"$(codename)" "$2" -
}

# build DIR
build() {
	local out=$1 package release
	package=$(kernel_package)
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT

	echo "building the kernel from $package" >&2
	unpack_kernel "$package" "$work/kernel"
	release=$(ls "$work/kernel/lib/modules")
	extract_vmlinux "$work/kernel/boot/vmlinuz-$release" "$out/vmlinux"
	depmod -b "$work/kernel" "$release"
	make_module_tree "$work/kernel" "$release" "$work/modules"
	make_initrd "$work/modules" "$release" "$out/initrd.gz"

	echo "building the root image" >&2
	make_root "$work/modules" "$out/root.img"
}

case ${1:-} in
key) key ;;
make) build "${2:?folder to build into}" ;;
*) die "usage: build.sh key | build.sh make DIR" ;;
esac
