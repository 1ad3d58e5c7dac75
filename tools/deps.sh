#!/bin/sh
# deps.sh PROGRAM:PACKAGE ... installs with apt the packages whose program is missing. A name
# that ends in .so.N is a shared library, one that ends in .h a header, a path a file; without a name the package
# itself is looked for. It does nothing if all are there; without root it prints the one command to run.
set -eu
export PATH="$PATH:/usr/sbin:/sbin"

missing=
for pair in "$@"; do
	program=${pair%%:*} package=${pair#*:}
	case $program in
	"") [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] && continue ;;
	/*) [ -e "$program" ] && continue ;;
	*.h) [ -e "/usr/include/$program" ] && continue ;;
	*.so.*) ldconfig -p | grep -q "$program" && continue ;;
	*) command -v "$program" >/dev/null 2>&1 && continue ;;
	esac
	missing="$missing $package"
done
[ -n "$missing" ] || exit 0

install="apt-get install -y --no-install-recommends$missing"
if [ "$(id -u)" -ne 0 ]; then
	echo "missing packages; run this once, then try again:" >&2
	echo "  sudo sh -c 'apt-get update && $install'" >&2
	exit 1
fi
echo "installing:$missing"
apt-get update -qq
DEBIAN_FRONTEND=noninteractive $install -qq >/dev/null
