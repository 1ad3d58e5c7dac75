package packagetest

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/testlab"
	"sidetone/internal/testlab/systemd"
)

// built is where 'make packages' has left programs and packages; without it there is nothing to test.
var built = flag.String("packages", "", "folder in which make packages has left everything")

// needs skips a test where there is nothing to test, or nothing to test it with.
func needs(t *testing.T, tools ...string) {
	t.Helper()
	if *built == "" {
		t.Skip("packages are tested by `make test-packages`, which builds them")
	}
	for _, tool := range tools {
		_, err := exec.LookPath(tool)
		require.NoError(t, err, "run `make deps-packages`")
	}
}

// build makes one package of the programs that are there, and returns its path.
func build(t *testing.T, brand, format, version, folder string, more ...string) string {
	t.Helper()
	out := t.TempDir()
	cmd := exec.Command("go", append([]string{
		"run", "./installer", "-fast", "-brand", brand, "-programs", *built, "-out", out, "-only", format + "/amd64",
		"-version", version, "-build", version, "-commit", "none", "-epoch", "1700000000",
	}, more...)...)
	cmd.Dir = "../.."
	said, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", said)
	found, err := filepath.Glob(filepath.Join(out, "*."+map[string]string{"archlinux": "zst"}[format]+strings.TrimPrefix(format, "archlinux")))
	require.NoError(t, err)
	require.Len(t, found, 1)
	path := filepath.Join(folder, fmt.Sprintf("%s-%s", version, filepath.Base(found[0])))
	require.NoError(t, os.Rename(found[0], path))
	return path
}

// second writes another vendor's brand, with a folder of catalogues, and returns its path.
func second(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	for from, to := range map[string]string{
		"installer/brand.yaml": "brand.yaml", "installer/icon.svg": "icon.svg", "examples/acme.yaml": "catalogue/beta.yaml",
	} {
		text, err := os.ReadFile(filepath.Join("../..", from))
		require.NoError(t, err)
		text = []byte(strings.NewReplacer("acme-agent", "beta-agent", "  id: acme ", "  id: beta ", "123456789012345678", "223456789012345678",
			"[../examples/acme.yaml]", "[catalogue]", "6B2F6C0E", "7B2F6C0E").Replace(string(text)))
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(folder, to)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(folder, to), text, 0o600))
	}
	return filepath.Join(folder, "brand.yaml")
}

// client is a fake one, and how many devices each list had, by the id of the application that sent it.
type client struct {
	mu    sync.Mutex
	lists map[string][]int
}

func (c *client) of(id string) []int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lists[id]
}

// has waits until the newest list of an application has so many devices, and there are more lists than after.
func (c *client) has(t *testing.T, id string, after, devices int) {
	t.Helper()
	testlab.Eventually(t, fmt.Sprintf("a list of %s with %d devices", id, devices), func() bool {
		lists := c.of(id)
		return len(lists) > after && lists[len(lists)-1] == devices
	})
}

// startClient starts a fake client in a user's session.
func startClient(t *testing.T, u *systemd.User) *client {
	t.Helper()
	c := &client{lists: make(map[string][]int)}
	cmd := u.Command("/share/fakeserver", "--json", "--profile", "desktop", "--bucket", "-1", "--port", "6463")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			var line struct {
				ClientID string `json:"client_id"`
				Payload  struct {
					Args struct{ Devices []json.RawMessage }
				}
			}
			if json.Unmarshal(lines.Bytes(), &line) == nil {
				c.mu.Lock()
				c.lists[line.ClientID] = append(c.lists[line.ClientID], len(line.Payload.Args.Devices))
				c.mu.Unlock()
			}
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = out.Close()
		<-done
		_ = cmd.Wait()
	})
	return c
}

// copyTo copies a file into the folder that a machine sees.
func copyTo(t *testing.T, m *systemd.Machine, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(m.Share, filepath.Base(path)), data, 0o755))
}

// listing prints all files that packages may bring, but what the machine writes by itself, and the units.
const listing = `find /etc /opt /srv /usr /var \( -path /var/log -o -path /var/cache -o -path /var/tmp -o -path /var/lib/dpkg \
	-o -path /var/lib/rpm -o -path /var/lib/pacman \
	-o -path /var/lib/systemd \) -prune -o -not -type d -printf '%p %y %s %l\n' | sort
systemctl --global list-unit-files --no-legend --no-pager`

// files are all files and units of a machine.
func files(m *systemd.Machine) []string {
	return strings.Split(m.Run("root", "sh", "-c", listing), "\n")
}
