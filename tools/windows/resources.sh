#!/usr/bin/env bash
# resources.sh: makes what the programs for Windows say of themselves (icon, version, manifest) into object files beside their sources, which
# go build links.
#
# Environment: VERSION. A brand's own are put into the programs when they are packed (installer/windows.go).
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$here/../..
version=${VERSION:-dev}

# The tool looks for all beside its input.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp "$top/internal/tray/icon/program.ico" "$top/installer/windows/program.manifest" "$folder"

# What Windows compares are four numbers. A version that begins with none, as a commit's hash does, has none.
number=$(sed -nE 's/^v?([0-9]+(\.[0-9]+){1,3})([^0-9.].*)?$/\1/p' <<<"$version")

# quoted TEXT: as it stands between the quotes of JSON, for sed.
quoted() { sed -e 's/[\\"]/\\&/g' -e 's/[\\&|]/\\&/g' <<<"$1"; }

# resources FOLDER PROGRAM DESCRIPTION
resources() {
	sed -e "s|@NUMBER@|${number:-0.0.0.0}|" -e "s|@VERSION@|$(quoted "$version")|" \
		-e "s|@PROGRAM@|$2|" -e "s|@DESCRIPTION@|$3|" \
		"$here/resources.json" >"$folder/resources.json"
	CGO_ENABLED=0 GOOS='' GOARCH='' "${GO:-go}" run github.com/tc-hib/go-winres@v0.3.3 make --in "$folder/resources.json" --out "$top/$1/resources" --arch amd64,arm64
}

resources cmd/agent sidetone Sidetone
resources cmd/tray sidetonew "Sidetone (tray)"
resources cmd/service sidetone-service "Sidetone (service)"
