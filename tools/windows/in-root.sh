#!/bin/sh
# in-root.sh ROOT PROGRAM ...: for wine.sh, in a mount namespace of its own. Lets the program see the root's system, and of this
# machine all else: its devices, its folders, and the folder in which it is started.
set -eu
root=$1
shift
for folder in /*; do
	case $folder in
	/bin | /etc | /lib* | /run | /sbin | /usr) continue ;;
	esac
	if [ -d "$folder" ] && [ ! -L "$folder" ]; then
		mkdir -p "$root$folder"
		mount --rbind "$folder" "$root$folder"
	fi
done
exec unshare --root="$root" --wd="$PWD" "$@"
