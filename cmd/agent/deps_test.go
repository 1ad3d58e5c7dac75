package main

import (
	"os"
	"os/exec"
	"regexp"
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
	foreign := `testing(/.*)?|sidetone/(fakeserver|bench|tools|internal/(testlab|memnet|world))(/.*)?|github.com/stretchr/.*|go.uber.org/goleak`
	for program, c := range map[string]struct{ needs, lacks string }{
		"sidetone/cmd/agent": {"sidetone/internal/app", `github.com/godbus/dbus/v5/.+|sidetone/internal/tray(/.*)?`},
		"sidetone/cmd/tray": {
			"sidetone/internal/tray",
			`github.com/(gen2brain/malgo|gorilla/websocket|spf13/.*|kardianos/.*|jfreymuth/.*)|` +
				`sidetone/internal/(app|catalogue|config|doctor|engine|hid|rpcclient|service|platform/(audio|camera|hidio|power))(/.*)?`,
		},
	} {
		list, err := exec.CommandContext(t.Context(), "go", "list", "-deps", program).Output()
		require.NoError(t, err)
		refused := regexp.MustCompile("^(" + foreign + "|" + c.lacks + ")$")
		for dep := range strings.FieldsSeq(string(list)) {
			require.NotRegexp(t, refused, dep, program)
		}
		require.Contains(t, string(list), c.needs+"\n")
	}
}

// TestMainsBeginWithTheirDLLs: what is called before might load one that somebody has put beside the program.
func TestMainsBeginWithTheirDLLs(t *testing.T) {
	for _, file := range []string{"main.go", "../tray/main.go"} {
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Contains(t, string(source), "\nfunc main() {\n\tsystem.LoadDLLsOfSystemOnly()\n")
	}
}
