#!/usr/bin/env bash
# Wine in a root of its own below the cache folder: nothing of it is installed on this machine, and no test touches another's
# registry.
#
#   wine.sh deps              installs the Debian packages that this and the build for Windows need (or, without root, says how)
#   wine.sh build             builds the root and the template of a prefix into the cache; does nothing if they are there
#   wine.sh prefix DIR        makes DIR a prefix, by copying the template. Windows can be made in it without a display
#   wine.sh run PROGRAM ...   runs a Windows program in $WINEPREFIX, in this folder and with this machine's paths (Z:\ is /)
#   wine.sh halt              ends what runs in $WINEPREFIX: the next program there boots it
#   wine.sh end               does so, and deletes it
#
# Environment: SIDETONE_WINE_CACHE (default ${XDG_CACHE_HOME:-~/.cache}/sidetone-wine), SIDETONE_WINE_DISPLAY (the display on which
# windows are shown; without it nobody sees them), WINEDEBUG (default -all; err+all shows why
# a program did not even start).
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${SIDETONE_WINE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/sidetone-wine}
image=$cache/$(sha256sum "$here/root.sh" | cut -c1-16)
bin=/usr/lib/wine

die() {
	echo "wine.sh: $*" >&2
	exit 1
}

deps() {
	local wanted=(gcc-mingw-w64-x86-64 mmdebstrap pulseaudio util-linux)
	# mmdebstrap needs it to work without root.
	[[ $EUID -eq 0 ]] || wanted+=(uidmap)
	sh "$here/../deps.sh" "${wanted[@]/#/:}"
}

build() {
	mkdir -p "$cache"
	exec 9>"$cache/lock"
	flock 9
	if [[ ! -d $image ]]; then
		# Other checkouts may use other builds: kept is what has been used within a week. Names are matched: the folder may be shared.
		# One that was broken off may have mounts in it.
		rm -rf --one-file-system "$cache/partial"
		find "$cache" -mindepth 1 -maxdepth 1 -type d -regextype posix-extended -regex '.*/[0-9a-f]{16}' -mtime +7 -exec rm -rf --one-file-system {} +
		mkdir "$cache/partial"
		"$here/root.sh" "$cache/partial/root" 9>&-
		WINEPREFIX=$cache/partial/prefix in_root "$cache/partial/root" "$bin/wine64" wineboot.exe -i 9>&-
		WINEPREFIX=$cache/partial/prefix in_root "$cache/partial/root" "$bin/wineserver64" -w 9>&-
		mv "$cache/partial" "$image"
	fi
	touch "$image"
	exec 9>&-
}

# in_root ROOT PROGRAM ...: runs a Linux program of the root. All mounts are in a namespace that ends with it, so that nothing is to
# be unmounted, nor deleted by mistake.
#
# Wine's services inherit the output of the first program and live on: who reads it from a pipe would wait for them. So it
# goes through a file. With TMPDIR set, Wine aborts at its start.
in_root() {
	local root=$1 user=() output status=0
	shift
	[[ $EUID -eq 0 ]] || user=(--map-root-user)
	mkdir -p "$WINEPREFIX"
	output=$(mktemp)
	# shellcheck disable=SC2064 # the file of now
	trap "rm -f '$output'" EXIT
	env --unset=DISPLAY --unset=WAYLAND_DISPLAY --unset=DBUS_SESSION_BUS_ADDRESS --unset=TMPDIR --unset=SIDETONE_WINE_CACHE --unset=SIDETONE_WINE_DISPLAY \
		${SIDETONE_WINE_DISPLAY:+DISPLAY="$SIDETONE_WINE_DISPLAY"} \
		HOME="$WINEPREFIX" XDG_RUNTIME_DIR="$WINEPREFIX" PATH="$bin:/usr/bin:/bin" WINEPREFIX="$WINEPREFIX" WINEARCH=win64 WINESERVER="$bin/wineserver64" \
		WINEDEBUG="${WINEDEBUG:--all}" WINEDLLOVERRIDES="mscoree,mshtml=" PULSE_SERVER="${PULSE_SERVER:-unix:/nonexistent}" \
		unshare "${user[@]}" --mount --propagation private "$here/in-root.sh" "$root" "$@" >"$output" 2>&1 </dev/null || status=$?
	cat "$output"
	return "$status"
}

case "${1:-} $#" in
"deps 1") deps ;;
"build 1") build ;;
"prefix 2")
	build && mkdir -p "$2" && cp -a --reflink=auto "$image/prefix/." "$2"
	printf '\n[Software\\\\Wine\\\\Drivers]\n"Graphics"="x11,null"\n' >>"$2/user.reg"
	;;
"run "[2-9]* | "run 1"[0-9]*)
	[[ -d ${WINEPREFIX:?} ]] || die "$WINEPREFIX is no prefix: make it by wine.sh prefix"
	shift
	in_root "$image/root" "$bin/wine64" "$@"
	;;
"halt 1" | "end 1")
	in_root "$image/root" "$bin/wineserver64" -k || true # it has ended already
	[[ $1 == halt ]] || rm -rf "${WINEPREFIX:?}"
	;;
*)
	sed -n '5,10s/^# *//p' "$0" >&2
	exit 2
	;;
esac
