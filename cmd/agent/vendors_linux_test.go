package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"sidetone/fakeserver"
	"sidetone/internal/brand"
	"sidetone/internal/catalogue"
	"sidetone/internal/platform/paths"
	"sidetone/internal/testlab/ipctest"
)

// maker is one of the vendors of a user, and their agent.
type maker struct {
	*agentRun
	id, clientID, file string
}

// twoMakers prepares the agents of two vendors, of whom each reports one headset to the same client.
func twoMakers(t *testing.T, client *fakeserver.Server, folder string, endpoints [2]string, settings ...string) (a, b *maker) {
	t.Helper()
	var both [2]*maker
	for i, m := range []*maker{{id: "acme", clientID: "123456789012345678"}, {id: "beta", clientID: "223456789012345678"}} {
		m.file = write(t, "endpoints.yaml", "endpoints: ["+endpoints[i]+"]\n")
		m.agentRun = newAgentRun(t, nil, append(settings,
			"SIDETONE_SOURCES_AUDIO=false", "SIDETONE_SOURCES_CAMERA=false", "SIDETONE_SOURCES_FILES="+m.file)...)
		m.folder, m.ports = folder, []int{client.Port()}
		m.catalogue = catalogueOf(t, m.id, m.clientID)
		both[i] = m
	}
	return both[0], both[1]
}

// catalogueOf is the example's, of another vendor.
func catalogueOf(t *testing.T, id, clientID string) string {
	t.Helper()
	text, err := os.ReadFile("../../examples/acme.yaml")
	require.NoError(t, err)
	text = []byte(strings.NewReplacer(
		"\n  id: acme ", "\n  id: "+id+" ", "123456789012345678", clientID, "\n    traces:", "\n    #").Replace(string(text)))
	return write(t, id+".yaml", string(text))
}

// privateFolder is a user's runtime folder, with the short path that sockets need.
func privateFolder(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "run")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(folder)) })
	return folder
}

// clientOfAll starts a client in a folder of its own, whichever applications talk to it.
func clientOfAll(t *testing.T) (client *fakeserver.Server, folder string) {
	t.Helper()
	folder = privateFolder(t)
	client, err := fakeserver.Start(fakeserver.Options{Ports: []int{ipctest.Port(t)}, IPCDir: folder})
	require.NoError(t, err)
	t.Cleanup(func() { client.Close() })
	return client, folder
}

// microphone is one endpoint of the example's headset.
func microphone(id string) string {
	return fmt.Sprintf(`{id: %q, name: %q, type: audioinput, bus: usb, vid: "1209", pid: "0700", serial: %q}`, id, id, id)
}

// comes waits until what has been received makes cond true.
func comes(t *testing.T, client *fakeserver.Server, what string, cond func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for seq := 0; !cond(); {
		p, err := client.WaitPayload(ctx, seq)
		require.NoError(t, err, what)
		seq = p.Seq
	}
}

// holds waits until the client has the device in the vendor's list, and finds it by its id.
func (m *maker) holds(client *fakeserver.Server, id string) {
	m.t.Helper()
	comes(m.t, client, m.id+" has "+id, func() bool {
		list := client.DevicesOf(m.clientID)
		_, known := client.Lookup(id)
		return known && len(list) == 1 && list[0].ID == id
	})
}

// leaves stops the agent, and returns how many payloads there were when its list was empty.
func (m *maker) leaves(client *fakeserver.Server) int {
	m.t.Helper()
	m.signal(syscall.SIGTERM)
	m.exit()
	for _, p := range client.Payloads() {
		if p.ClientID == m.clientID && len(p.Devices) == 0 {
			return p.Seq
		}
	}
	require.FailNow(m.t, "no farewell", m.id)
	return 0
}

// TestTwoVendors has the agents of two vendors on one client: the list of each stays whole, whichever
// starts or stops last.
func TestTwoVendors(t *testing.T) {
	t.Parallel()
	for _, transport := range []string{"ipc", "websocket"} {
		for name, mics := range map[string][2]string{"own ids": {"Mic of Acme", "Mic of Beta"}, "equal ids": {"USB Headset", "USB Headset"}} {
			t.Run(transport+" "+name, func(t *testing.T) {
				t.Parallel()
				client, folder := clientOfAll(t)
				acme, beta := twoMakers(t, client, folder, [2]string{microphone(mics[0]), microphone(mics[1])}, "SIDETONE_RPC_TRANSPORTS="+transport)
				both := func() {
					t.Helper()
					acme.holds(client, mics[0])
					beta.holds(client, mics[1])
				}
				acme.start()
				acme.holds(client, mics[0])
				beta.start()
				both()

				gone := beta.leaves(client)
				comes(t, client, "the other sends its list again", func() bool { return sentAfter(client, acme.clientID, gone) })
				acme.holds(client, mics[0])
				beta.start()
				both()

				gone = acme.leaves(client)
				comes(t, client, "the other sends its list again", func() bool { return sentAfter(client, beta.clientID, gone) })
				beta.holds(client, mics[1])
			})
		}
	}
}

func sentAfter(client *fakeserver.Server, clientID string, seq int) bool {
	for _, p := range client.Payloads() {
		if p.Seq > seq && p.ClientID == clientID && len(p.Devices) > 0 {
			return true
		}
	}
	return false
}

// TestUnpluggingBesideAnotherVendor has two headsets with one name: the client forgets both when one
// is pulled out, until the other agent says again that its own is there.
func TestUnpluggingBesideAnotherVendor(t *testing.T) {
	t.Parallel()
	client, folder := clientOfAll(t)
	acme, beta := twoMakers(t, client, folder, [2]string{microphone("USB Headset"), microphone("USB Headset")})
	acme.start()
	acme.holds(client, "USB Headset")
	beta.start()
	beta.holds(client, "USB Headset")
	before := len(client.Payloads())
	require.NoError(t, os.WriteFile(beta.file, []byte("endpoints: []\n"), 0o600))
	comes(t, client, "the headset is gone", func() bool { return len(client.DevicesOf(beta.clientID)) == 0 })
	for _, p := range client.Payloads()[before:] {
		if p.ClientID == beta.clientID && len(p.Devices) == 0 {
			comes(t, client, "the other sends its list again", func() bool { return sentAfter(client, acme.clientID, p.Seq) })
		}
	}
	acme.holds(client, "USB Headset")
}

// TestSecondAgent is refused in one line that says who is in the way and what to do, wherever its local API would be.
func TestSecondAgent(t *testing.T) {
	t.Parallel()
	client, folder := clientOfAll(t)
	acme, _ := twoMakers(t, client, folder, [2]string{microphone("Mic"), ""})
	acme.start()
	acme.holds(client, "Mic")
	who := fmt.Sprintf("another agent (process %d) of this user runs already", acme.cmd.Process.Pid)
	for name, c := range map[string]struct {
		catalogue, setting string
		lock               string
	}{
		"the same":                 {acme.catalogue, "", "clients/123456789012345678.lock"},
		"another socket":           {acme.catalogue, "SIDETONE_CONTROL_SOCKET=" + filepath.Join(folder, "other.sock"), "clients/123456789012345678.lock"},
		"another vendor's name":    {catalogueOf(t, "beta", "123456789012345678"), "", "clients/123456789012345678.lock"},
		"another application's id": {catalogueOf(t, "acme", "323456789012345678"), "", "acme/agent.lock"},
	} {
		t.Run(name, func(t *testing.T) {
			o := sidetone(t, []string{"XDG_RUNTIME_DIR=" + folder, c.setting},
				"run", "--catalogue", c.catalogue, "--sources-audio=false", "--sources-camera=false")
			require.Equal(t, exitFailed, o.code, o.stderr)
			require.Equal(t, 1, strings.Count(o.stderr, "\n"), o.stderr)
			require.Contains(t, o.stderr, who)
			require.Contains(t, o.stderr, "holds "+folder+"/sidetone/"+c.lock+": stop it first")
		})
	}
	acme.holds(client, "Mic")
	for _, p := range client.Payloads() {
		require.Equal(t, acme.clientID, p.ClientID, "nobody else has sent a list")
		require.Len(t, p.Devices, 1)
	}
}

// TestVerbsFindTheAgent has no setting that says where it is.
func TestVerbsFindTheAgent(t *testing.T) {
	t.Parallel()
	client, folder := clientOfAll(t)
	acme, beta := twoMakers(t, client, folder, [2]string{microphone("Mic of Acme"), microphone("Mic of Beta")})
	runtime := "XDG_RUNTIME_DIR=" + folder
	ask := func(env []string, args ...string) output {
		t.Helper()
		return sidetone(t, append([]string{runtime}, env...), args...)
	}
	of := func(o output, m *maker) {
		t.Helper()
		require.Equal(t, exitOK, o.code, o.stderr)
		require.Contains(t, o.stdout, fmt.Sprintf("(pid %d)", m.cmd.Process.Pid))
	}

	o := ask(nil, "status")
	require.Equal(t, exitFailed, o.code)
	require.Contains(t, o.stderr, "the agent is not running: start it with 'sidetone run' (no vendor's agent in "+folder+"/sidetone")

	beta.start()
	beta.holds(client, "Mic of Beta")
	of(ask(nil, "status"), beta)

	// Which agent was meant is not known: the only one that runs may be another's.
	settings := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(settings, "sidetone"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(settings, "sidetone", "config.yaml"), []byte("vendr: acme\n"), 0o600))
	mistyped := "XDG_CONFIG_HOME=" + settings
	for _, verb := range []string{"stop", "upgrade"} {
		isBadInput(t, ask([]string{mistyped}, verb), `unknown key: "vendr"`)
		o = ask([]string{mistyped}, verb, "--vendor", "acme")
		require.Equal(t, exitFailed, o.code)
		require.Contains(t, o.stderr, "the agent is not running")
	}
	of(ask(nil, "status"), beta)

	acme.start()
	acme.holds(client, "Mic of Acme")
	for _, verb := range []string{"status", "watch", "doctor", "explain", "bundle"} {
		args := []string{verb}
		if verb == "explain" || verb == "bundle" {
			args = append(args, "x")
		}
		isBadInput(t, ask(nil, args...), "agents of several vendors run (acme, beta): say which with --vendor or SIDETONE_VENDOR")
	}
	of(ask(nil, "status", "--vendor", "acme"), acme)
	of(ask([]string{"SIDETONE_VENDOR=beta"}, "status"), beta)
	isBadInput(t, ask(nil, "status", "--vendor", "Acme"), `"Acme" is not lower-case letters`)
	o = ask(nil, "status", "--vendor", "gamma")
	require.Equal(t, exitFailed, o.code)
	require.Contains(t, o.stderr, "the agent is not running")
	require.Contains(t, o.stderr, folder+"/sidetone/gamma/agent.sock")

	// A branded program speaks with its own vendor's agent only.
	branded := brandEnv + "=" + strings.TrimSuffix(write(t, "beta-agent.brand.yaml",
		"vendor: {id: beta, client_id: \"223456789012345678\"}\ntexts: {en: {cli.products: goods}}\n"), ".brand.yaml")
	o = ask([]string{branded}, "status")
	of(o, beta)
	require.Regexp(t, "^beta-agent dev ", o.stdout)
	require.Contains(t, o.stdout, "\ngoods\n", "the brand's words are those of English, too")
	o = ask([]string{branded}, "doctor", "--rpc-ports", "1", "--sources-audio=false", "--catalogue", write(t, "none.yaml", "schema: 1"))
	require.NotContains(t, o.stdout, "'sidetone ")
	o = ask([]string{branded, "SIDETONE_VENDOR=acme"}, "doctor", "--nonsense")
	require.Contains(t, o.stderr, "beta-agent: ", "it is called as its file is")
	require.Contains(t, ask([]string{branded}, "run", "--help").stdout, "env BETA_AGENT_RPC_PORTS")
	isBadInput(t, ask([]string{branded}, "status", "--vendor", "acme"), "this program is of vendor beta")
	isBadInput(t, ask([]string{branded}, "run", "--catalogue", acme.catalogue), "the catalogue is of vendor acme, and this agent of vendor beta")
}

// addresses are the constants that no brand renames: folders of sockets and locks.
var addresses = regexp.MustCompile(`/sidetone/`)

// TestBrandedProgramNamesNoOther than itself: in help, answers, errors and what it writes.
func TestBrandedProgramNamesNoOther(t *testing.T) {
	t.Parallel()
	client, folder := clientOfAll(t)
	_, beta := twoMakers(t, client, folder, [2]string{microphone("Mic of Acme"), microphone("Mic of Beta")})
	home := t.TempDir()
	branded := []string{"XDG_RUNTIME_DIR=" + folder, "HOME=" + home, brandEnv + "=" + strings.TrimSuffix(write(t, "beta-agent.brand.yaml",
		"vendor: {id: beta, client_id: \"223456789012345678\"}\n"), ".brand.yaml")}
	says := func(args ...string) output {
		t.Helper()
		o := sidetone(t, branded, args...)
		require.NotRegexp(t, "(?i)sidetone", addresses.ReplaceAllString(o.stdout+o.stderr, ""), "%q", args)
		return o
	}
	for _, c := range all(rootCommand(io.Discard)) {
		says(append(strings.Fields(c.CommandPath())[1:], "--help")...)
	}
	for _, verb := range []string{"status", "watch", "devices", "doctor", "report"} {
		says(verb)
	}
	says("run")
	says("run", "--sources-audio=maybe")
	says("config", "show")
	says("config", "check")
	says("service", "status")
	says("catalogue", "udev", beta.catalogue)
	says("catalogue", "check", beta.catalogue)
	beta.start()
	beta.holds(client, "Mic of Beta")
	for _, verb := range []string{"status", "doctor", "devices", "explain"} {
		says(verb)
	}
	o := says("report")
	require.Equal(t, filepath.Join(home, "beta-agent-report.html")+"\n", o.stdout, o.stderr)
}

// TestStoppedAgent is one that takes connections and answers nothing.
func TestStoppedAgent(t *testing.T) {
	t.Parallel()
	client, folder := clientOfAll(t)
	acme, _ := twoMakers(t, client, folder, [2]string{microphone("Mic"), ""})
	acme.start()
	acme.holds(client, "Mic")
	runtime := []string{"XDG_RUNTIME_DIR=" + folder}
	o := sidetone(t, runtime, "doctor", "--catalogue", "/nope.yaml", "--sources-audio=false")
	require.Equal(t, exitFailed, o.code, "the agent's own catalogue is in order, this one is not: %s", o.stdout)
	require.Contains(t, o.stdout, "/nope.yaml: cannot read the file, no such file or directory")

	acme.signal(syscall.SIGSTOP)
	for _, verb := range []string{"status", "watch"} {
		o := sidetone(t, append(runtime, limitsEnv+"=1"), verb)
		require.Equal(t, exitFailed, o.code)
		require.Equal(t, "sidetone: the agent does not answer: it hangs, or was stopped (kill -STOP); "+
			"end it and start it again, or let it go on (kill -CONT)\n", o.stderr)
	}
	acme.signal(syscall.SIGCONT)
	o = sidetone(t, runtime, "status")
	require.Equal(t, exitOK, o.code, o.stderr)
}

// TestIdentityStays while the agent runs: its address and the client's list go by it.
func TestIdentityStays(t *testing.T) {
	t.Parallel()
	client, folder := clientOfAll(t)
	acme, beta := twoMakers(t, client, folder, [2]string{microphone("Mic"), ""})
	acme.start()
	acme.holds(client, "Mic")
	for _, other := range []string{catalogueOf(t, "acme", beta.clientID), catalogueOf(t, "beta", acme.clientID)} {
		text, err := os.ReadFile(other)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(acme.catalogue, text, 0o600))
		acme.signal(syscall.SIGHUP)
		e := acme.logged("the old configuration stays in force")
		require.Contains(t, e["reason"], "vendor.id and vendor.client_id cannot change while an agent runs")
	}
	require.Len(t, client.DevicesOf(acme.clientID), 1)
	require.Empty(t, client.DevicesOf(beta.clientID))
}

// TestAddressIsFixed for whoever ships software with a headset: no brand renames it.
func TestAddressIsFixed(t *testing.T) {
	t.Parallel()
	folder := privateFolder(t)
	address, err := paths.ControlAddress(func(string) string { return folder }, "acme")
	require.NoError(t, err)
	require.Equal(t, folder+"/sidetone/acme/agent.sock", address)
	cat, problems, err := catalogue.Load("../../examples/acme.yaml")
	require.NoError(t, err)
	require.Empty(t, problems)
	require.NoError(t, brand.CheckVendorID(cat.Vendor.ID))
}

// TestReloadWhileStarting has a SIGHUP come when the agent is only about to run. What it says goes into a
// pipe that is full, and so it cannot go on before the signal was there.
func TestReloadWhileStarting(t *testing.T) {
	t.Parallel()
	folder := privateFolder(t)
	said, log, err := os.Pipe()
	require.NoError(t, err)
	defer said.Close()
	size, err := unix.FcntlInt(log.Fd(), unix.F_GETPIPE_SZ, 0)
	require.NoError(t, err)
	_, err = log.Write(append(make([]byte, size-1), '\n'))
	require.NoError(t, err)
	cmd := racedChild(t, privateEnv(t, nil, "XDG_RUNTIME_DIR="+folder, "SIDETONE_RPC_PORTS=1"),
		"run", "--catalogue", "../../examples/acme.yaml", "--sources-audio=false", "--sources-camera=false", "--sources-hid=false")
	cmd.Stderr = log
	require.NoError(t, cmd.Start())
	require.NoError(t, log.Close())
	socket := filepath.Join(folder, "sidetone", "acme", "agent.sock")
	require.Eventually(t, func() bool { _, err := os.Lstat(socket); return err == nil }, patience, 5*time.Millisecond)
	require.NoError(t, cmd.Process.Signal(syscall.SIGHUP))
	lines := bufio.NewScanner(said)
	lines.Buffer(nil, size+1)
	for lines.Scan() && !strings.Contains(lines.Text(), "configuration read again") {
	}
	require.Contains(t, lines.Text(), "configuration read again", "the agent has ended")
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	go func() { _, _ = io.Copy(io.Discard, said) }()
	require.NoError(t, cmd.Wait())
}
