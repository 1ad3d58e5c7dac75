#!/usr/bin/env bash
# bench.sh FLAG ...: the bench of the agent for Windows, under Wine, in a prefix of its own. Flags are those of the bench.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=$(mktemp -d)
export WINEPREFIX=$folder/prefix
trap '"$here/wine.sh" end; rm -rf "$folder"' EXIT
cd "$here/../.."

printf 'package main\n\nimport "time"\n\nfunc main() { time.Sleep(1 << 62) }\n' >"$folder/sleeper.go"
export GO=${GO:-go}
GOOS=windows GOARCH=amd64 CGO_ENABLED=0 "$GO" build -trimpath -ldflags '-s -w' -o "$folder" "$folder/sleeper.go"
GOOS=windows GOARCH=amd64 CGO_ENABLED=0 "$GO" build -trimpath -ldflags '-s -w' -o "$folder/bench.exe" ./bench
"$here/standin/audio.sh" "$folder"
"$here/wine.sh" prefix "$WINEPREFIX"
"$here/wine.sh" run "$folder/coreaudio.exe" install "$folder/sidetoneaudio.dll"
"$here/wine.sh" run "$folder/bench.exe" "$@"
