package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"sidetone/internal/testlab/ipctest"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, ipctest.Kept, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(folder)
		os.Exit(code)
	}))
}

// folder is that of the program that all tests share, "" before one has built it.
var folder string

// built is that program.
var built = sync.OnceValues(func() (program string, err error) {
	if folder, err = os.MkdirTemp("", "fakeserver"); err != nil {
		return "", err
	}
	program = filepath.Join(folder, "fakeserver")
	out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, out)
	}
	return program, err
})

const (
	patience = 30 * time.Second
	mic      = `{"type":"audioinput","id":"mic","vendor":{"name":"Acme"},"model":{"name":"Headset 700"},"related":[],"hardware_mute":false}`
	speaker  = `{"type":"audiooutput","id":"out","vendor":{"name":"Acme"},"model":{"name":"Headset 700"},"related":[]}`
)

// A session is the command at work, in this process.
type session struct {
	t        *testing.T
	in       *io.PipeWriter
	out, err *lines
	stop     context.CancelFunc
	code     chan int
	address  string
}

// lines are read from a pipe one at a time.
type lines struct {
	t    *testing.T
	pipe *io.PipeReader
	next chan string
}

func newLines(t *testing.T) (*lines, *io.PipeWriter) {
	r, w := io.Pipe()
	l := &lines{t, r, make(chan string, 1000)}
	go func() {
		defer close(l.next)
		for scan := bufio.NewScanner(r); scan.Scan(); {
			l.next <- scan.Text()
		}
	}()
	return l, w
}

func (l *lines) read() string {
	l.t.Helper()
	select {
	case line, ok := <-l.next:
		require.True(l.t, ok, "no more lines")
		return line
	case <-time.After(patience):
		require.Fail(l.t, "no line came")
	}
	return ""
}

// begin starts the command with one documented server.
func begin(t *testing.T, args ...string) *session {
	t.Helper()
	s := launchCommand(t, args...)
	s.listening()
	return s
}

// launchCommand starts the command; where it listens is still to be read.
func launchCommand(t *testing.T, args ...string) *session {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	inReader, inWriter := io.Pipe()
	out, outWriter := newLines(t)
	errs, errWriter := newLines(t)
	s := &session{t: t, in: inWriter, out: out, err: errs, stop: stop, code: make(chan int, 1)}
	go func() {
		s.code <- execute(ctx, append([]string{"--port", "0"}, args...), inReader, outWriter, errWriter)
		_ = outWriter.Close()
		_ = errWriter.Close()
	}()
	t.Cleanup(func() {
		stop()
		_ = inWriter.Close()
		_ = out.pipe.Close()
		_ = errs.pipe.Close()
	})
	return s
}

// listening reads the line that says where the server listens.
func (s *session) listening() {
	s.t.Helper()
	line := s.err.read()
	require.Regexp(s.t, `^listening on 127\.0\.0\.1:\d+$`, line)
	s.address = strings.TrimPrefix(line, "listening on ")
}

func (s *session) say(line string) {
	s.t.Helper()
	_, err := fmt.Fprintln(s.in, line)
	require.NoError(s.t, err)
}

func (s *session) ended() int {
	s.t.Helper()
	select {
	case code := <-s.code:
		return code
	case <-time.After(patience):
		require.Fail(s.t, "the command does not end")
	}
	return -1
}

func message(nonce string, devices ...string) string {
	return fmt.Sprintf(`{"nonce":%q,"cmd":"SET_CERTIFIED_DEVICES","args":{"devices":[%s]}}`, nonce, strings.Join(devices, ","))
}

func post(t *testing.T, address, body string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "POST", "http://"+address+"/rpc?v=1&client_id=123456789012345678", strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	transport := &http.Transport{DisableKeepAlives: true}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return string(answer)
}

var clock = regexp.MustCompile(`^\d\d:\d\d:\d\d\.\d\d\d `)

func (s *session) change() string {
	s.t.Helper()
	line := s.out.read()
	require.Regexp(s.t, clock, line)
	return clock.ReplaceAllString(line, "")
}

func TestText(t *testing.T) {
	s := begin(t)
	for _, step := range []struct{ body, want string }{
		{message("1", mic, speaker), "http +2 devices: Acme Headset 700 (audioinput), Acme Headset 700 (audiooutput)"},
		{message("2", strings.Replace(mic, "false", "true", 1), speaker), "http Acme Headset 700 mic: hardware_mute false → true"},
		{message("3", strings.Replace(mic, "false", "true", 1), speaker), "http unchanged"},
		{message("4", strings.Replace(mic, `"mic"`, `""`, 1)), "http REJECTED devices[0].id: empty string"},
		{message("5", strings.Replace(speaker, `"related":[]`, `"related":["x"],"x":1`, 1)), "http -1 device: Acme Headset 700 (audioinput); Acme Headset 700 speaker: related changed" +
			` (warning: devices[0]: unknown key "x"; devices[0].related[0]: "x" is not the id of a device in the list)`},
		{message("6"), "http list emptied"},
		{"hello", "http REJECTED message: not JSON: invalid character 'h' looking for beginning of value"},
	} {
		post(t, s.address, step.body)
		require.Equal(t, step.want, s.change())
	}
	s.say("quit")
	require.Equal(t, exitOK, s.ended())
}

func TestConsole(t *testing.T) {
	s := begin(t, "--fault", "1*bad-json")
	require.NotContains(t, post(t, s.address, message("n", mic)), "nonce")
	require.Equal(t, "http +1 device: Acme Headset 700 (audioinput) (fault bad-json)", s.change())

	s.say("fault")
	require.Equal(t, "fault none", s.err.read())
	s.say("fault 1*error=4006:Not authenticated")
	require.Equal(t, "fault 1*error=4006:Not authenticated", s.err.read())
	require.Contains(t, post(t, s.address, message("n")), "Not authenticated")
	require.Equal(t, "http REJECTED fault error: not taken", s.change())
	s.say("fault anser-late=1s")
	require.Equal(t, `unknown fault "anser-late", did you mean "answer-late"?`, s.err.read())
	s.say("fault refuse")
	require.Equal(t, "fault refuse", s.err.read())
	require.Contains(t, post(t, s.address, message("n")), "refused")
	s.say("  fault   none ")
	require.Equal(t, "fault none", s.err.read())

	s.say("restart")
	old := s.address
	s.listening()
	require.Equal(t, old, s.address)
	s.say("restart 0")
	s.listening()
	s.say("restart here")
	require.Equal(t, `"here" is not a port between 0 and 65535`, s.err.read())
	s.say("stop")
	require.Equal(t, "stopped", s.err.read())
	require.Contains(t, post(t, s.address, message("n")), "refused")
	_, port, err := net.SplitHostPort(s.address)
	require.NoError(t, err)
	s.say("resume " + port)
	s.listening()
	require.Contains(t, post(t, s.address, message("n")), `"evt":null`)

	taken, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	s.say(fmt.Sprintf("restart %d", taken.Addr().(*net.TCPAddr).Port))
	require.Contains(t, s.err.read(), "cannot open the port")
	s.say("resume")
	s.listening()

	s.say("drop")
	s.say("freeze")
	require.Equal(t, "frozen", s.err.read())
	s.say("thaw")
	require.Equal(t, "thawed", s.err.read())
	require.Contains(t, post(t, s.address, message("n")), `"evt":null`)
	s.say("")
	s.say("dance")
	require.Equal(t, `unknown command "dance", try help`, s.err.read())
	s.say("help")
	require.Contains(t, s.err.read(), "commands, for all servers")
	s.say("exit")
	require.Equal(t, exitOK, s.ended())
}

func TestJSON(t *testing.T) {
	s := begin(t, "--json")
	post(t, s.address, message("n-1", mic))
	post(t, s.address, "<hello>")
	var first, second map[string]any
	require.NoError(t, json.Unmarshal([]byte(s.out.read()), &first))
	require.NoError(t, json.Unmarshal([]byte(s.out.read()), &second))

	_, err := time.Parse(time.RFC3339Nano, first["time"].(string))
	require.NoError(t, err)
	delete(first, "time")
	var sent any
	require.NoError(t, json.Unmarshal([]byte(message("n-1", mic)), &sent))
	require.Equal(t, map[string]any{
		"seq": 1.0, "transport": "http", "conn": 1.0, "client_id": "123456789012345678", "nonce": "n-1",
		"change": "+1 device: Acme Headset 700 (audioinput)", "payload": sent,
	}, first)
	require.Equal(t, "<hello>", second["payload"])
	require.Equal(t, 1003.0, second["code"])
	require.Contains(t, second["rejected"], "not JSON")
	require.NotContains(t, second, "change")
}

// What acts on a terminal stays what it is, in a form that does not act.
func TestJSONHasNothingForATerminal(t *testing.T) {
	const nonce = "\x7f\u009b2J\u202e\u2028é😀"
	s := begin(t, "--json")
	post(t, s.address, strings.Replace(message("NONCE"), "NONCE", nonce, 1))
	line := s.out.read()
	require.NotRegexp(t, `[^ -~]`, line)
	var read struct {
		Nonce   string
		Payload struct{ Nonce string }
	}
	require.NoError(t, json.Unmarshal([]byte(line), &read))
	require.Equal(t, nonce, read.Nonce)
	require.Equal(t, nonce, read.Payload.Nonce)
}

func TestPretty(t *testing.T) {
	s := begin(t, "--pretty")
	post(t, s.address, message("é😀\u202e"))
	s.change()
	require.Equal(t, "  {", s.out.read())
	require.Equal(t, `    "nonce": "\u00e9\ud83d\ude00\u202e",`, s.out.read())
	for s.out.read() != "  }" {
	}
	post(t, s.address, "\x1b")
	s.change()
	require.Equal(t, `  "\x1b"`, s.out.read())
}

func TestFlags(t *testing.T) {
	s := begin(t, "--client-id", "111111111111111111,222222222222222222", "--no-websocket", "--origin", "https://acme.test")
	require.Contains(t, post(t, s.address, message("n")), "not a known application")
	require.Contains(t, s.change(), "REJECTED request: client_id")

	s = begin(t, "--no-http", "--no-fingerprint")
	require.Equal(t, "404 page not found\n", post(t, s.address, message("n")))
}

func TestMistakes(t *testing.T) {
	for args, want := range map[string]string{
		"--port 6473-6463":           "--port: range 6473-6463 is reversed, write 6463-6473",
		"--port x":                   `--port: "x" is not a port between 0 and 65535`,
		"--port 1-":                  `--port: "1-" is neither a port between 0 and 65535 nor a range such as 6463-6473`,
		"--port -1":                  `--port: "-1" is neither a port between 0 and 65535 nor a range such as 6463-6473`,
		"--port -":                   `--port: "-" is neither a port`,
		"--port 0-5":                 "--port: range 0-5: 0 means any free port and cannot begin a range",
		"--port 65536":               `--port: "65536" is not a port between 0 and 65535`,
		"--fault redy-never":         `--fault: unknown fault "redy-never", did you mean "ready-never"?`,
		"--fault answer-late=soon":   `--fault: fault answer-late: cannot read "soon", write it answer-late=DURATION`,
		"--client-id me":             `client id "me": not a snowflake (17 to 20 decimal digits)`,
		"--pretty --json":            "--pretty and --json exclude each other",
		"--bucket 0":                 "--bucket: 0 would let nothing through: want at least 1, or -1 for no limit",
		"--refill 0":                 "--refill: want a time above zero, not 0s",
		"--client-id=":               "--client-id: the id is empty",
		"--no-http --no-websocket":   "no transport left: WebSocket and HTTP are both switched off",
		"--nonsense":                 "unknown flag: --nonsense",
		"--port":                     "flag needs an argument: --port",
		"serve":                      `unexpected argument "serve", see --help`,
		"--port 0 --fault 1*refuse":  "--fault: fault refuse: a refused connection is never seen: neither a number of times nor a transport other than ipc is possible",
		"--fault websocket/nonsense": `--fault: unknown fault "nonsense", want one of refuse, `,
	} {
		var out, errs bytes.Buffer
		code := execute(context.Background(), strings.Fields(args), strings.NewReader(""), &out, &errs)
		require.Equal(t, exitUsage, code, args)
		require.Empty(t, out.String(), args)
		require.True(t, strings.HasPrefix(errs.String(), "fakeserver: "+want), errs.String())
		require.Equal(t, 1, strings.Count(errs.String(), "\n"), errs.String())
	}
}

func TestPorts(t *testing.T) {
	for text, want := range map[string][]int{"0": {0}, "6465": {6465}, "6463-6465": {6463, 6464, 6465}, "7-7": {7}} {
		got, err := parsePorts(text)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

func TestPortTaken(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	_, port, err := net.SplitHostPort(taken.Addr().String())
	require.NoError(t, err)
	var out, errs bytes.Buffer
	require.Equal(t, exitFailed, execute(context.Background(), []string{"--port", port}, strings.NewReader(""), &out, &errs))
	require.Contains(t, errs.String(), "127.0.0.1:"+port)
	require.Equal(t, 1, strings.Count(errs.String(), "\n"), errs.String())
}

func TestHelp(t *testing.T) {
	var out, errs bytes.Buffer
	require.Equal(t, exitOK, execute(context.Background(), []string{"--help"}, strings.NewReader(""), &out, &errs))
	for _, want := range []string{"Exit codes:", "--port", "answer-late=DURATION", "  desktop  ", "--profile"} {
		require.Contains(t, out.String(), want)
	}
}

// The end of stdin, as under a service manager, is no reason to end.
func TestStdinEnds(t *testing.T) {
	s := begin(t)
	require.NoError(t, s.in.Close())
	require.Contains(t, post(t, s.address, message("n")), `"evt":null`)
	require.Equal(t, "http list empty", s.change())
	s.stop()
	require.Equal(t, exitOK, s.ended())
}

func TestStdoutFails(t *testing.T) {
	s := begin(t)
	require.NoError(t, s.out.pipe.Close())
	post(t, s.address, message("n"))
	require.Equal(t, exitFailed, s.ended())
	require.Contains(t, s.err.read(), "cannot print to stdout")
}

// Nobody reads stdout: the command still ends.
func TestStdoutStalls(t *testing.T) {
	t.Parallel()
	stdout, stalled := io.Pipe()
	in, say := io.Pipe()
	errs, errWriter := newLines(t)
	code := make(chan int, 1)
	go func() {
		code <- execute(context.Background(), []string{"--port", "0"}, in, stalled, errWriter)
		_ = errWriter.Close()
	}()
	s := &session{t: t, in: say, err: errs, code: code}
	s.listening()
	require.Contains(t, post(t, s.address, message("n")), `"evt":null`)
	s.say("quit")
	require.Equal(t, exitOK, s.ended())
	require.NoError(t, stdout.Close())
	require.NoError(t, say.Close())
}

func TestHelpCannotBePrinted(t *testing.T) {
	r, w := io.Pipe()
	require.NoError(t, r.Close())
	for _, args := range [][]string{{"--help"}, {"conform", "--help"}, {"help", "run"}} {
		var errs bytes.Buffer
		require.Equal(t, exitFailed, execute(context.Background(), args, strings.NewReader(""), w, &errs), args)
		require.Contains(t, errs.String(), "fakeserver: cannot print to stdout: ")
	}
}

func TestMisspeltVerb(t *testing.T) {
	for arg, want := range map[string]string{
		"confrom":   `unexpected argument "confrom", did you mean "conform"?`,
		"rum":       `unexpected argument "rum", did you mean "run"?`,
		"serve\x1b": `unexpected argument "serve\x1b", see --help`,
	} {
		var out, errs bytes.Buffer
		require.Equal(t, exitUsage, execute(context.Background(), []string{arg}, strings.NewReader(""), &out, &errs))
		require.Equal(t, "fakeserver: "+want+"\n", errs.String())
	}
}

// command prepares to run it as a process.
func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no signals that a process can be sent")
	}
	program, err := built()
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return exec.CommandContext(ctx, program, args...)
}

// Whoever reads stdout goes away, as head does: what was opened is put away.
func TestPipeCloses(t *testing.T) {
	t.Parallel()
	cmd := command(t, "--port", "0", "--ipc", ipctest.Folder(t))
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	scan := bufio.NewScanner(stderr)
	require.True(t, scan.Scan())
	m := startup.FindStringSubmatch(scan.Text())
	require.NotNil(t, m, scan.Text())
	require.FileExists(t, m[3])
	require.NoError(t, stdout.Close())
	post(t, m[2], message("n"))
	require.True(t, scan.Scan(), "not a word")
	require.Contains(t, scan.Text(), "fakeserver: cannot print to stdout: ")
	require.False(t, scan.Scan())
	require.Error(t, cmd.Wait())
	require.Equal(t, exitFailed, cmd.ProcessState.ExitCode())
	require.NoFileExists(t, m[3])
}

func TestInterrupt(t *testing.T) {
	t.Parallel()
	cmd := command(t, "--port", "0")
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	require.NoError(t, cmd.Start())
	scan := bufio.NewScanner(stderr)
	require.True(t, scan.Scan())
	address := strings.TrimPrefix(scan.Text(), "listening on ")
	require.Contains(t, post(t, address, message("n", mic)), `"evt":null`)
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	require.False(t, scan.Scan(), "nothing more is said")
	require.NoError(t, cmd.Wait(), "exit code 0")
	require.Contains(t, stdout.String(), "+1 device: Acme Headset 700 (audioinput)")
}
