#!/usr/bin/env bash
# test.sh FLAG|PACKAGE ...: go test for Windows, under Wine, in a prefix that ends with it. Flags and packages are those of go test.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=$(mktemp -d)
export WINEPREFIX=$folder/prefix GOOS=windows GOARCH=amd64 CGO_ENABLED=0 CC=x86_64-w64-mingw32-gcc
[[ ${1:-} != -race ]] || CGO_ENABLED=1 # the race detector needs a C compiler

export SIDETONE_STANDINS=Z:$folder/standins

mkdir "$folder/standins"
for driver in hid camera; do
	"$CC" -O1 -fno-builtin -I/usr/x86_64-w64-mingw32/include/ddk -shared -nostdlib -Wl,--subsystem,native -Wl,-e,DriverEntry -s \
		-o "$folder/standins/sidetone$driver.sys" "$here/standin/$driver.c" -lntoskrnl -lhidclass
done
# Wine's endpoints are those of a PulseAudio of its own. There is one headset, from the beginning: Wine hears of no plugs.
export PULSE_SERVER=unix:$folder/pulse/native
headset="device.description='Acme One' device.bus='usb' device.vendor.id='046f' device.product.id='0001'"
mkdir "$folder/pulse"
env --unset=DISPLAY HOME="$folder/pulse" XDG_RUNTIME_DIR="$folder/pulse" PULSE_RUNTIME_PATH="$folder/pulse" PULSE_STATE_PATH="$folder/pulse" \
	DBUS_SESSION_BUS_ADDRESS=unix:path=/nonexistent DBUS_SYSTEM_BUS_ADDRESS=unix:path=/nonexistent \
	pulseaudio -n --daemonize=no --exit-idle-time=-1 --use-pid-file=no --high-priority=no --realtime=no --log-level=error \
	-L "module-native-protocol-unix auth-anonymous=1 socket=$folder/pulse/native" \
	-L "module-null-sink sink_name=headset sink_properties=\"$headset\"" \
	-L "module-remap-source source_name=headset_mic master=headset.monitor source_properties=\"$headset\"" &
sound=$!
trap '"$here/wine.sh" end; kill "$sound"; rm -rf "$folder"' EXIT
"$here/wine.sh" prefix "$WINEPREFIX"
"${GO:-go}" test -exec "$here/wine.sh run" "$@"
