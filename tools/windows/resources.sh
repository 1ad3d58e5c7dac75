#!/usr/bin/env bash
# resources.sh: makes what the programs for Windows say of themselves (icon, version, manifest) into object files beside their sources, which
# go build links.
#
# Environment: VERSION; a brand's own PRODUCT, COMPANY and PROGRAM (the name of the agent's binary), and ICON, an .ico file.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$here/../..
product=${PRODUCT:-Sidetone} company=${COMPANY:-Sidetone} program=${PROGRAM:-sidetone} version=${VERSION:-dev}

# The tool looks for all beside its input.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp "${ICON:-$top/internal/tray/icon/program.ico}" "$folder/program.ico"
cp "$top/installer/windows/program.manifest" "$folder"

# What Windows compares are four numbers. A version that begins with none, as a commit's hash does, has none.
number=$(sed -nE 's/^v?([0-9]+(\.[0-9]+){1,3})([^0-9.].*)?$/\1/p' <<<"$version")

# quoted TEXT: as it stands between the quotes of JSON, for sed.
quoted() { sed -e 's/[\\"]/\\&/g' -e 's/[\\&|]/\\&/g' <<<"$1"; }

# resources FOLDER PROGRAM DESCRIPTION
resources() {
	sed -e "s|@NUMBER@|${number:-0.0.0.0}|" -e "s|@VERSION@|$(quoted "$version")|" \
		-e "s|@COMPANY@|$(quoted "$company")|" -e "s|@PRODUCT@|$(quoted "$product")|" -e "s|@PROGRAM@|$(quoted "$2")|" -e "s|@DESCRIPTION@|$(quoted "$3")|" \
		"$here/resources.json" >"$folder/resources.json"
	CGO_ENABLED=0 GOOS='' GOARCH='' "${GO:-go}" run github.com/tc-hib/go-winres@v0.3.3 make --in "$folder/resources.json" --out "$top/$1/resources" --arch amd64,arm64
}

resources cmd/agent "$program" "$product"
resources cmd/tray "${program}w" "$product (tray)"
resources cmd/service "${program}-service" "$product (service)"
