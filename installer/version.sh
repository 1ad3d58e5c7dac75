#!/bin/sh
# version.sh: the version of packages that are made of this clone, in the numbers with dots that package managers want: those of the last tag, and the
# commits since then. Where they are not known it says so: a lower version than was shipped before is refused on each machine that has that.
set -eu

refuse() {
	echo "the version of the packages is not known: $1; say it, as in: make packages PACKAGE_VERSION=1.4.0${2:-}" >&2
	exit 1
}

commits=$(git rev-list --count HEAD 2>/dev/null) ||
	refuse "this is no git repository with a commit" " COMMIT=1f0c… EPOCH=1795402247 (commit and time of the sources, in seconds since 1970)"
last=$(git describe --tags --match 'v[0-9]*' --long 2>/dev/null) || {
	[ "$(git rev-parse --is-shallow-repository)" = false ] || refuse "the clone is not whole and has no tag (git fetch --unshallow --tags)"
	echo "0.0.$commits"
	exit
}
# A commit may have a tag of a candidate beside that of the release.
numbers=$(git describe --tags --match 'v[0-9]*' --exclude '*[!v0-9.]*' --long 2>/dev/null |
	sed -nE 's/^v([0-9]+(\.[0-9]+)*)-([0-9]+)-g.*/\1.\3/p')
since=${last%-g*}
since=${since##*-}
[ "${numbers##*.}" = "$since" ] || refuse "the last tag, ${last%-*-g*}, is more than numbers with dots"
echo "$numbers"
