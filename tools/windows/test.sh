#!/usr/bin/env bash
# test.sh FLAG|PACKAGE ...: go test for Windows, under Wine, in a prefix that ends with it. Flags and packages are those of go test.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=$(mktemp -d)
export WINEPREFIX=$folder/prefix GOOS=windows GOARCH=amd64 CGO_ENABLED=1 CC=x86_64-w64-mingw32-gcc

export SIDETONE_STANDINS=Z:$folder/standins

mkdir "$folder/standins"
for driver in hid; do
	"$CC" -O1 -fno-builtin -I/usr/x86_64-w64-mingw32/include/ddk -shared -nostdlib -Wl,--subsystem,native -Wl,-e,DriverEntry -s \
		-o "$folder/standins/sidetone$driver.sys" "$here/standin/$driver.c" -lntoskrnl -lhidclass
done
"$here/wine.sh" prefix "$WINEPREFIX"
trap '"$here/wine.sh" end; rm -rf "$folder"' EXIT
"${GO:-go}" test -exec "$here/wine.sh run" "$@"
