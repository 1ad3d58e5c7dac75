#!/bin/sh
# audio.sh DIR: makes in DIR the stand-in for Core Audio, sidetoneaudio.dll, and coreaudio.exe, which installs it and does something to its
# endpoints.
set -eu

here=$(dirname "$0")
x86_64-w64-mingw32-gcc -O1 -shared -s -o "$1/sidetoneaudio.dll" "$here/audio.c" -lole32 -luuid
cd "$here/../../.."
GOOS=windows GOARCH=amd64 CGO_ENABLED=0 "${GO:-go}" build -o "$1/coreaudio.exe" ./tools/windows/coreaudio
