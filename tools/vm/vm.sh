#!/usr/bin/env bash
# A virtual machine with Debian's kernel, systemd and sound servers, under software emulation: it needs neither KVM nor
# devices of the host.
#
#   vm.sh deps                        installs the Debian packages this needs (or, without root, says how)
#   vm.sh build                       builds kernel, initrd and root image into the cache; does nothing if they are there
#   vm.sh run pipewire|pulse DIR      boots, mounts DIR at /share, runs DIR/run.sh in a login session of an ordinary user,
#                                     passes its exit status on. If that is 0 and it has made a file DIR/again the machine is
#                                     rebooted, and runs it once more
#
# Environment: SIDETONE_VM_CACHE (default ${XDG_CACHE_HOME:-~/.cache}/sidetone-vm), SIDETONE_VM_TIMEOUT (seconds a run may
# take, default 900), SIDETONE_VM_MEMORY (MiB, default 512).
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${SIDETONE_VM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/sidetone-vm}
timeout=${SIDETONE_VM_TIMEOUT:-900}
memory=${SIDETONE_VM_MEMORY:-512}

die() {
	echo "vm.sh: $*" >&2
	exit 1
}

deps() {
	local wanted=(qemu-system-x86 busybox-static cpio kmod mmdebstrap genext2fs xz-utils)
	# mmdebstrap needs it to work without root.
	[[ $EUID -eq 0 ]] || wanted+=(uidmap)
	sh "$here/../deps.sh" "${wanted[@]/#/:}"
}

# build: sets image to the folder that holds the build.
build() {
	local key
	key=$("$here/build.sh" key)
	image=$cache/$key
	mkdir -p "$cache"
	# Two builds at once would do the same work twice and delete each other's folder.
	exec 9>"$cache/lock"
	flock 9
	if [[ ! -d $image ]]; then
		# Only the build in use is kept: each is half a gigabyte. The names are matched because the folder may be shared.
		find "$cache" -mindepth 1 -maxdepth 1 -type d -regextype posix-extended -regex '.*/([0-9a-f]{16}|partial)' -exec rm -rf {} +
		mkdir "$cache/partial"
		"$here/build.sh" make "$cache/partial" 9>&-
		mv "$cache/partial" "$image"
	fi
	exec 9>&-
}

# boot SOUND SHARE DISK: returns when the machine is off, or resets.
boot() {
	# Never KVM: a nested or restricted /dev/kvm opens and then does not run this kernel.
	# quiet loglevel=1: the virtual USB controller logs a line per millisecond while audio streams.
	timeout --foreground -k 10 "$timeout" qemu-system-x86_64 \
		-accel tcg,thread=multi -cpu max -M pc -smp 2 -m "$memory" \
		-nodefaults -no-user-config -display none -monitor none -no-reboot -serial stdio \
		-kernel "$image/vmlinux" -initrd "$image/initrd.gz" \
		-append "console=ttyS0 panic=-1 quiet loglevel=1 mitigations=off sound=$1" \
		-drive "file=$3,format=raw,if=virtio" \
		-virtfs "local,path=$2,mount_tag=share,security_model=none,multidevs=remap" \
		</dev/null || die "the virtual machine failed or took more than $timeout s (status $?)"
}

# run SOUND DIR
run() {
	local sound=$1 share status disk
	[[ $sound == pipewire || $sound == pulse ]] || die "no sound server $sound: pipewire or pulse"
	share=$(cd "$2" && pwd)
	[[ -f $share/run.sh ]] || die "no run.sh in $share"
	build
	rm -f "$share"/{rc,again}
	# What a boot leaves on the disk is there at the next one, and not in the next run.
	disk=$(mktemp)
	# shellcheck disable=SC2064 # the name is local
	trap "rm -f '$disk'" EXIT
	cp --reflink=auto "$image/root.img" "$disk"
	boot "$sound" "$share" "$disk"
	if [[ -e $share/again && ! -e $share/rc ]]; then
		rm "$share/again"
		boot "$sound" "$share" "$disk"
	fi
	[[ -f $share/rc ]] || die "the guest ended without a result: see its console above"
	status=$(<"$share/rc")
	rm -f "$share/rc"
	return "$status"
}

case "${1:-} $#" in
"deps 1") deps ;;
"build 1") build ;;
"run 3") run "$2" "$3" ;;
*)
	sed -n '5,10s/^# *//p' "$0" >&2
	exit 2
	;;
esac
