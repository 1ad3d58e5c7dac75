#!/usr/bin/env bash
# root.sh DIR: makes DIR a Debian with Wine 10, from the archive that this machine uses. What is built is named after this file's hash.
set -euo pipefail

# The first release with Wine 10. Older ones cannot run what Go builds today.
release=trixie

die() {
	echo "root.sh: $*" >&2
	exit 1
}

# mirror is the archive that this machine takes Debian from.
mirror() {
	local uri
	# shellcheck disable=SC2016 # apt expands it, not the shell
	uri=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Label: Debian' | sort -u | sed -n 1p)
	[[ -n $uri ]] || die "no Debian in this machine's apt sources: run it on Debian amd64, after apt-get update"
	echo "$uri"
}

# Packages are installed, not only unpacked. Wine's own scripts mark its DLLs as builtin; without that, whatever
# shows a window or a menu ends silently with status 53.
mmdebstrap --quiet --mode=auto --format=directory --variant=minbase --include=wine64,libpulse0 \
	--aptopt='Acquire::Languages "none"' \
	--dpkgopt='path-exclude=/usr/share/doc/*' \
	--dpkgopt='path-exclude=/usr/share/man/*' \
	--dpkgopt='path-exclude=/usr/share/locale/*' \
	"$release" "$1" "deb $(mirror) $release main"
# Two thirds of Wine are debugging symbols, which would be read at each start, too. What does not lie on borders of pages in its file
# cannot be mapped, and would be read into each process: stripping alone moves it.
find "$1"/usr/lib/x86_64-linux-gnu/wine/x86_64-windows -type f -exec x86_64-w64-mingw32-objcopy --strip-debug --file-alignment 4096 {} \;
