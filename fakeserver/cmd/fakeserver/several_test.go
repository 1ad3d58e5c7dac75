package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"sidetone/fakeserver"
	"sidetone/internal/testlab/ipctest"
)

var startup = regexp.MustCompile(`^(?:(\S+): )?listening on (127\.0\.0\.1:\d+)?(?: and )?([/\\]\S+)?$`)

// where reads a line that says where a server listens.
func (s *session) where() (name, address, path string) {
	s.t.Helper()
	line := s.err.read()
	m := startup.FindStringSubmatch(line)
	require.NotNil(s.t, m, line)
	return m[1], m[2], m[3]
}

func TestOneDesktop(t *testing.T) {
	dir := ipctest.Folder(t)
	s := launchCommand(t, "--profile", "desktop", "--ipc", dir)
	name, address, path := s.where()
	require.Equal(t, "Stable", name)
	require.Equal(t, filepath.Join(dir, "discord-ipc-0"), path)
	require.Contains(t, post(t, address, message("1", mic)), `"evt":null`)
	require.Equal(t, "http +1 device: Acme Headset 700 (audioinput)", s.change(), "one server needs no name")
	c, err := ipctest.Dial(t.Context(), path)
	require.NoError(t, err)
	require.NoError(t, c.Close())

	s.say("stop")
	require.Equal(t, "Stable: stopped", s.err.read())
	require.NoFileExists(t, path)
	s.say("resume")
	require.Equal(t, fmt.Sprintf("Stable: listening on %s and %s", address, path), s.err.read())
	s.say("quit")
	require.Equal(t, exitOK, s.ended())
	require.NoFileExists(t, path)
}

func TestSeveral(t *testing.T) {
	dir := ipctest.Folder(t)
	s := launchCommand(t, "--profile", "3*desktop", "--profile", "arrpc,documented", "--ipc", dir)
	var names, addresses []string
	for n := range 5 {
		name, address, path := s.where()
		require.Equal(t, filepath.Join(dir, fmt.Sprintf("discord-ipc-%d", n)), path)
		names, addresses = append(names, name), append(addresses, address)
	}
	require.Equal(t, []string{"Stable", "PTB", "Canary", "client-4", "client-5"}, names)

	post(t, addresses[1], message("1", mic))
	require.Regexp(t, `^PTB \d\d:\d\d:\d\d\.\d\d\d http \+1 device`, s.out.read())
	post(t, addresses[4], message("2", mic))
	require.Regexp(t, `^client-5 \d\d:\d\d:\d\d\.\d\d\d http \+1 device`, s.out.read())

	s.say("@ptb fault error=4006")
	require.Equal(t, "PTB: fault error=4006", s.err.read())
	require.Contains(t, post(t, addresses[1], message("3")), "4006")
	require.Contains(t, post(t, addresses[0], message("4")), `"evt":null`)
	s.say("fault none")
	for _, name := range names {
		require.Equal(t, name+": fault none", s.err.read())
	}
	s.say("fault nonsense")
	require.Contains(t, s.err.read(), `unknown fault "nonsense"`)
	s.say("@nobody drop")
	require.Equal(t, `no server is named "nobody", want one of @Stable, @PTB, @Canary, @client-4, @client-5`, s.err.read())
	s.say("restart 6470")
	require.Equal(t, "only one server can have port 6470, say which: @Stable", s.err.read())
	s.say("dance")
	require.Equal(t, `unknown command "dance", try help`, s.err.read())

	s.say("@Canary restart")
	name, address, path := s.where()
	require.Equal(t, []string{"Canary", addresses[2], filepath.Join(dir, "discord-ipc-2")}, []string{name, address, path})
	s.say("stop")
	for _, name := range names {
		require.Equal(t, name+": stopped", s.err.read())
	}
	s.say("resume 0")
	for range names {
		s.where()
	}
	s.say("@PTB quit")
	require.Equal(t, exitOK, s.ended(), "there is one end for all")
	requireNoSockets(t, dir)
}

func TestSeveralAsJSON(t *testing.T) {
	s := launchCommand(t, "--profile", "2*documented", "--json")
	s.where()
	name, address, path := s.where()
	require.Equal(t, "PTB", name)
	require.Empty(t, path, "a documented client has no IPC unless it is asked for")
	post(t, address, message("1"))
	var l map[string]any
	require.NoError(t, json.Unmarshal([]byte(s.out.read()), &l))
	require.Equal(t, "PTB", l["server"])
}

func TestIPCFlag(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("auto is the client's own pipe, whatever the environment says")
	}
	dir := ipctest.Folder(t)
	for _, name := range []string{"TEMP", "TMP", "TMPDIR", "XDG_RUNTIME_DIR"} {
		t.Setenv(name, dir)
	}
	for args, want := range map[string]bool{
		"--profile documented":            false,
		"--profile documented --ipc auto": true,
		"--profile squatter":              false,
		"--profile squatter --ipc auto":   false,
		"--profile desktop":               true,
		"--profile desktop --ipc off":     false,
		"--profile arrpc":                 true,
		"--profile blackhole":             true,
		"--profile flaky":                 true,
	} {
		s := launchCommand(t, strings.Fields(args)...)
		_, _, path := s.where()
		require.Equal(t, want, path != "", args)
		if want {
			require.Equal(t, dir, filepath.Dir(path), args)
		}
		s.say("quit")
		require.Equal(t, exitOK, s.ended())
	}
	s := launchCommand(t, "--no-tcp", "--ipc", dir)
	name, address, path := s.where()
	require.Empty(t, name+address)
	require.Equal(t, filepath.Join(dir, "discord-ipc-0"), path)
}

func TestClientIPCDir(t *testing.T) {
	if runtime.GOOS == "windows" {
		require.Equal(t, `\\.\pipe`, clientIPCDir())
		return
	}
	for _, name := range []string{"XDG_RUNTIME_DIR", "TMPDIR", "TMP", "TEMP"} {
		t.Setenv(name, "")
	}
	require.Equal(t, "/tmp", clientIPCDir())
	for _, name := range []string{"TEMP", "TMP", "TMPDIR", "XDG_RUNTIME_DIR"} {
		t.Setenv(name, "/"+name)
		require.Equal(t, "/"+name, clientIPCDir(), "the first that is set")
	}
}

func TestStateFiles(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "state.json")
	s := launchCommand(t, "--profile", "2*documented", "--state", file)
	s.where()
	_, address, _ := s.where()
	post(t, address, message("1", mic))
	s.say("quit")
	require.Equal(t, exitOK, s.ended())
	data, err := os.ReadFile(file + "-PTB")
	require.NoError(t, err)
	require.Contains(t, string(data), "Headset 700")
	require.FileExists(t, file+"-Stable")
	require.NoFileExists(t, file)

	require.NoError(t, os.Rename(file+"-PTB", file))
	s = launchCommand(t, "--state", file)
	_, address, _ = s.where()
	post(t, address, message("2", mic))
	require.Equal(t, "http unchanged", s.change())
	s.say("quit")
	require.Equal(t, exitOK, s.ended())

	require.NoError(t, os.WriteFile(file, []byte("{"), 0o600))
	var out, errs bytes.Buffer
	code := execute(context.Background(), []string{"--port", "0", "--profile", "arrpc", "--ipc", "off", "--state", file}, strings.NewReader(""), &out, &errs)
	require.Equal(t, exitFailed, code)
	require.Contains(t, errs.String(), "fakeserver: Stable: fake server: the state file "+file+" is corrupt")
}

func requireNoSockets(t *testing.T, dir string) {
	t.Helper()
	for n := range 10 {
		_, err := ipctest.Dial(t.Context(), filepath.Join(dir, fmt.Sprintf("discord-ipc-%d", n)))
		require.ErrorIs(t, err, fs.ErrNotExist)
	}
}

// One that cannot start takes the others with it.
func TestSeveralCannotStart(t *testing.T) {
	dir := ipctest.Folder(t)
	var out, errs bytes.Buffer
	code := execute(context.Background(), []string{"--port", "0", "--profile", "11*desktop", "--ipc", dir}, strings.NewReader(""), &out, &errs)
	require.Equal(t, exitFailed, code)
	require.Contains(t, errs.String(), "fakeserver: client-11: fake server: none of discord-ipc-0 to -9 in "+dir+" is free")
	requireNoSockets(t, dir)
}

func TestClientOptions(t *testing.T) {
	var f flags
	set := pflag.NewFlagSet("fakeserver", pflag.ContinueOnError)
	f.register(set)
	require.NoError(t, set.Parse(strings.Fields(
		"--fault ipc/hang --profile flaky --ipc off --bucket 5 --refill 7ns --seed 9 --state s --client-id 123456789012345678")))
	clients, err := f.clients()
	require.NoError(t, err)
	require.Equal(t, []fakeserver.Options{{
		Profile: fakeserver.Flaky, Name: "Stable", Bucket: 5, Refill: 7, Seed: 9, StateFile: "s", ClientIDs: f.common.ClientIDs,
		Fault: fakeserver.Fault{Kind: fakeserver.FaultHang, Transport: fakeserver.IPC},
	}}, clients)
}

func TestProfileMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"discord":     `--profile: unknown profile "discord", want one of documented, desktop,`,
		"0*desktop":   `--profile: "0*desktop": "0" is not a number of servers`,
		"x*desktop":   `--profile: "x*desktop": "x" is not a number of servers`,
		"101*desktop": `--profile: "101*desktop": more than 100 servers`,
		"":            `--profile: unknown profile ""`,
	} {
		var out, errs bytes.Buffer
		code := execute(context.Background(), []string{"--profile=" + text + ","}, strings.NewReader(""), &out, &errs)
		require.Equal(t, exitUsage, code, text)
		require.Contains(t, errs.String(), want)
	}
	for args, want := range map[string]string{
		"--no-tcp":           "no transport left: neither TCP nor IPC",
		"--bucket -2":        "bucket -2: want how many are let through at once, or -1 for no limit",
		"--refill=-1s":       "refill -1s: below zero",
		"--ipc off --seed x": `--seed: want a whole number, not below zero, not "x"`,
	} {
		var out, errs bytes.Buffer
		code := execute(context.Background(), strings.Fields(args), strings.NewReader(""), &out, &errs)
		require.Equal(t, exitUsage, code, args)
		require.Contains(t, errs.String(), want)
	}
}
