#!/usr/bin/env bash
# Runs the agent's tests on a real kernel, once with each sound server:
#
#   vmtest.sh [pipewire|pulse]...      both without arguments
#
# Environment: see vm.sh, and SIDETONE_VM_TESTS, a regular expression of the tests to run.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
[[ $# -gt 0 ]] || set -- pipewire pulse

share=$(mktemp -d)
trap 'rm -rf "$share"' EXIT
# The guest runs the tests as an ordinary user, who has to read this.
chmod 755 "$share"

cd "$root"
# The agent is built as it is shipped. It and the guest share one release of Debian, hence one libc.
make packages-vm
cp bin/packages-vm/linux-amd64/* bin/packages-vm/1.0.?/acme-agent_1.0.?_amd64.deb examples/acme.yaml installer/linux/70-sidetone-hid.rules "$share"
CGO_ENABLED=0 go build -o "$share/fakeusbd" ./tools/fakeusb/cmd/fakeusbd
CGO_ENABLED=0 go test -c -tags vmtest -o "$share/guest.test" ./tools/vm/guest
# The guest's run.sh gets no arguments and no environment of ours: what it needs is written into it.
printf 'exec ./guest.test -test.v -test.failfast -test.timeout=14m -test.run=%q\n' "${SIDETONE_VM_TESTS:-.}" >"$share/run.sh"

for sound in "$@"; do
	echo "== real kernel, $sound"
	"$here/vm.sh" run "$sound" "$share"
done
