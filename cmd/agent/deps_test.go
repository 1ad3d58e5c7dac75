package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"sidetone/internal/wine"

	"github.com/stretchr/testify/require"
)

// TestShippedBinaries: what ships to users links nothing that only tests and the demo need, and neither program what the other one is for.
func TestShippedBinaries(t *testing.T) {
	t.Parallel()
	if wine.Is() {
		t.Skip("Wine has no go")
	}
	foreign := `testing(/.*)?|sidetone/(fakeserver|bench|tools|internal/(testlab|memnet|world))(/.*)?|` +
		`github.com/stretchr/.*|go.uber.org/goleak`
	for program, c := range map[string]struct{ os, needs, lacks string }{
		"sidetone/cmd/agent": {runtime.GOOS, "sidetone/internal/app", `fyne.io/.*|github.com/godbus/dbus/v5/.+|sidetone/internal/tray(/.*)?`},
		"sidetone/cmd/tray": {
			runtime.GOOS, "sidetone/internal/tray",
			`github.com/(gen2brain/malgo|gorilla/websocket|spf13/.*|kardianos/.*|jfreymuth/.*)|` +
				`sidetone/internal/(app|catalogue|config|doctor|engine|hid|rpcclient|service|platform/(audio|camera|hidio|power))(/.*)?`,
		},
	} {
		list := dependencies(t, c.os, program)
		refused := regexp.MustCompile("^(" + foreign + "|" + c.lacks + ")$")
		for _, dep := range list {
			require.NotRegexp(t, refused, dep, program)
		}
		require.Contains(t, list, c.needs)
	}
}

// TestServiceOfWindows: what has the rights of the system is small. It has no network and no pipes, and reads neither settings, catalogues
// nor logs: all of that is the agent's, which has a user's rights.
func TestServiceOfWindows(t *testing.T) {
	t.Parallel()
	if wine.Is() {
		t.Skip("Wine has no go")
	}
	var own, foreign []string
	for _, dep := range dependencies(t, "windows", "sidetone/cmd/service") {
		require.NotRegexp(t, `^(net/(http|rpc|textproto)|crypto/tls|plugin|os/(user|signal))$`, dep)
		switch first, _, _ := strings.Cut(dep, "/"); {
		case first == "sidetone":
			own = append(own, dep)
		case strings.Contains(first, "."):
			foreign = append(foreign, dep)
		}
	}
	require.Equal(t, []string{
		"sidetone/internal/platform/system", "sidetone/internal/platform/windows/acl", "sidetone/internal/signal",
		"sidetone/internal/transition", "sidetone/internal/supervise", "sidetone/cmd/service",
	}, own)
	for _, dep := range foreign {
		require.Regexp(t, `^(vendor/.*|golang.org/x/sys/windows(/registry|/svc|/svc/eventlog)?)$`, dep)
	}
	for _, folder := range []string{"../service", "../../internal/supervise", "../../internal/platform/windows/acl"} {
		files, err := filepath.Glob(folder + "/*.go")
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for _, file := range files {
			source, err := os.ReadFile(file)
			require.NoError(t, err)
			if !strings.HasSuffix(file, "_test.go") {
				require.NotRegexp(t, `\b(os\.(Open|Create|Read|Write|Mkdir|Stat|Lstat|Rename|Remove)\w*|net\.\w+|exec\.\w+|windows\.CreateFile|`+
					`windows\.CreateNamedPipe|KnownFolder\w*|registry\.\w+|windows\.Reg(Query|Enum)\w+)\(`, string(source), file)
			}
		}
	}
}

// TestSetupOfWindows: what packages run with the rights of the system knows processes, files and tasks, and no catalogue, settings,
// pipes or network of the agent's.
func TestSetupOfWindows(t *testing.T) {
	t.Parallel()
	if wine.Is() {
		t.Skip("Wine has no go")
	}
	for _, dep := range dependencies(t, "windows", "sidetone/cmd/setup") {
		require.NotRegexp(t, `^(net/(http|rpc|textproto)|crypto/tls|plugin|os/(user|signal))$`, dep)
		if first, _, _ := strings.Cut(dep, "/"); strings.Contains(first, ".") {
			require.Regexp(t, `^golang.org/x/sys/windows(/(registry|svc|svc/mgr))?$`, dep)
		} else if first == "sidetone" {
			require.Regexp(t, `^sidetone/(cmd/setup|internal/(installation|platform/(system|windows/(acl|com))|service/(scm|tasks)))$`, dep)
		}
	}
	source, err := os.ReadFile("../setup/main_windows.go")
	require.NoError(t, err)
	require.NotRegexp(t, `os\.(Getenv|LookupEnv|Environ|ReadFile|Open)`, string(source), "everything is in its arguments")
}

// dependencies are the packages that a program for a system links.
func dependencies(t *testing.T, system, program string) []string {
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", program)
	cmd.Env = append(os.Environ(), "GOOS="+system)
	list, err := cmd.Output()
	require.NoError(t, err)
	return strings.Fields(string(list))
}

// TestMainsBeginWithTheirDLLs: what is called before might load one that somebody has put beside the program.
func TestMainsBeginWithTheirDLLs(t *testing.T) {
	for _, file := range []string{"main.go", "../tray/main.go", "../service/main_windows.go", "../setup/main_windows.go"} {
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Contains(t, string(source), "\nfunc main() {\n\tsystem.LoadDLLsOfSystemOnly()\n")
	}
}

// TestListensToInstallersFirst: whoever takes the names of its events before the program does keeps it from hearing one.
func TestListensToInstallersFirst(t *testing.T) {
	for file, next := range map[string]string{"run.go": "loadSettings(cmd)", "../tray/main.go": "options(agent, args)"} {
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		listens, reads := strings.Index(string(source), "installation.Listen()"), strings.Index(string(source), "err := "+next)
		require.Positive(t, listens, file)
		require.Less(t, listens, reads, file)
	}
}
