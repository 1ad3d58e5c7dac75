#!/bin/sh
# usage: fuzz.sh COUNT PACKAGE...    Runs every fuzz target of the packages with COUNT inputs (200000x), one after the other.
#
# It fails where an input was kept: that is what fuzzing looks for. A target that ends for another reason, as Go's own engine
# sometimes does with "context deadline exceeded", is told, and the next one runs.
set -eu
count=$1
shift
go=${GO:-go}
begun=$(mktemp)
trap 'rm -f "$begun"' EXIT
for package in $($go list "$@"); do
  listed=$($go test -list '^Fuzz' "$package")
  for target in $(echo "$listed" | grep '^Fuzz' || true); do
    echo "$package $target"
    $go test -run '^$' -fuzz "^$target\$" -fuzztime "$count" -fuzzminimizetime 20x "$package" || echo "$package $target: ended before its time"
  done
done
kept=$(find . -path '*/testdata/fuzz/*' -type f -newer "$begun")
if [ -n "$kept" ]; then
  echo "inputs that fail were kept:"
  echo "$kept"
  exit 1
fi
