package endtoend

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/examples"
	"sidetone/fakeserver"
)

// A vendor is one whose service runs its agent, all by the vendor's own names.
type vendor struct {
	prefix
	program, clientID, folder string
	client                    *fakeserver.Server
}

// newVendor installs a vendor's programs and service, which is started as start says.
func (p prefix) newVendor(id, clientID, service, start string) *vendor {
	client, err := fakeserver.Start(fakeserver.Options{Ports: []int{0}, ClientIDs: []string{clientID}})
	require.NoError(p.t, err)
	p.t.Cleanup(func() { require.NoError(p.t, client.Close()) })
	place := p.t.TempDir()
	v := &vendor{p, id + "-agent", clientID, `Z:` + strings.ReplaceAll(place, "/", `\`) + `\`, client}
	catalogue := strings.NewReplacer("id: acme", "id: "+id, "123456789012345678", clientID).Replace(string(examples.Acme))
	write := func(name string, content []byte) {
		require.NoError(p.t, os.WriteFile(filepath.Join(place, name), content, 0o700))
	}
	write("acme.yaml", []byte(catalogue))
	write("endpoints.yaml", []byte(oneMicrophone))
	write("config.yaml", fmt.Appendf(nil, settings, v.folder, client.Port()))
	write(v.program+".brand.yaml", fmt.Appendf(nil, "vendor: {id: %s, client_id: %q}\n", id, clientID))
	for name, from := range map[string]string{
		v.program + ".exe": path("sidetone.exe"), v.program + "w.exe": path("sidetonew.exe"), v.program + "-service.exe": service,
	} {
		content, err := os.ReadFile(from)
		require.NoError(p.t, err)
		write(name, content)
	}
	command := fmt.Sprintf(`%[1]s%[2]s-service.exe %[2]s %[1]s%[2]s.exe run --config=%[1]sconfig.yaml`, v.folder, v.program)
	v.sc("create", v.program, "start=", start, "binPath=", command)
	return v
}

// buildTool builds a command of this folder's parent for Windows.
func buildTool(t *testing.T, name string) string {
	program := filepath.Join(t.TempDir(), name+".exe")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "../"+name)
	build.Env = append(os.Environ(), "GOOS=windows", "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return program
}

// sc has the service manager do something.
func (v *vendor) sc(args ...string) {
	v.t.Helper()
	out, code := v.run(`C:\windows\system32\sc.exe`, args...)
	require.Zero(v.t, code, "sc %v: %s", args, out)
}

func (v *vendor) lists(what string, n int) {
	v.t.Helper()
	v.eventually(v.program+" "+what, func() bool { return len(v.client.Devices()) == n })
}

func (v *vendor) pid() int {
	out, _ := v.run(v.folder+v.program+".exe", "status", "--json")
	_, after, _ := strings.Cut(out, `"pid": `)
	number, _, _ := strings.Cut(after, ",")
	pid, _ := strconv.Atoi(strings.TrimSpace(number))
	return pid
}

// another waits for an agent that is not this one, and is connected to the client.
func (v *vendor) another(what string, than int) (pid int) {
	v.t.Helper()
	v.eventually(what, func() bool { pid = v.pid(); return pid != 0 && pid != than })
	v.lists(what, 1)
	return pid
}

// TestServicesOfTwoVendors has each vendor's service run its agent beside the other's: what happens to one, its agent killed, the service
// stopped or deleted, is nothing to the other.
func TestServicesOfTwoVendors(t *testing.T) {
	p := newPrefix(t, "unix:/nonexistent")
	service := buildTool(t, "anyservice")
	acme, zeta := p.newVendor("acme", "123456789012345678", service, "demand"), p.newVendor("zeta", "876543210987654321", service, "demand")
	for _, v := range []*vendor{acme, zeta} {
		v.sc("start", v.program)
		v.lists("started", 1)
	}
	var first, other int
	p.eventually("both answer", func() bool { first, other = acme.pid(), zeta.pid(); return first != 0 && other != 0 && first != other })

	before := len(acme.client.Payloads())
	_, code := p.run(`C:\windows\system32\taskkill.exe`, "/f", "/pid", strconv.Itoa(first))
	require.Zero(t, code)
	p.eventually("started again after a kill", func() bool { pid := acme.pid(); return pid != 0 && pid != first })
	p.eventually("which has found the client", func() bool { return len(acme.client.Payloads()) > before })
	require.Len(t, acme.client.Devices(), 1)

	acme.sc("stop", acme.program)
	acme.lists("stopped", 0)
	require.Len(t, zeta.client.Devices(), 1)
	require.Equal(t, other, zeta.pid(), "the other one goes on")
	acme.sc("delete", acme.program)

	said, code := zeta.run(zeta.folder+zeta.program+".exe", "stop")
	require.Zero(t, code, said)
	zeta.lists("quit by the user", 0)
	zeta.sc("stop", zeta.program)
	zeta.sc("delete", zeta.program)
	for _, s := range []*fakeserver.Server{acme.client, zeta.client} {
		for _, payload := range s.Payloads() {
			require.NoError(t, payload.Err)
		}
	}
}
