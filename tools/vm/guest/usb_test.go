//go:build vmtest

package guest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/testlab"
	"sidetone/tools/fakeusb"
)

// emulator is a running fakeusbd. It is a process of its own, because a process that both emulates a device and holds it
// open cannot be ended.
type emulator struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	lines *bufio.Scanner
}

func startEmulator() (*emulator, error) {
	cmd := exec.Command("./fakeusbd")
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the usb emulator: %w", err)
	}
	return &emulator{cmd, stdin, bufio.NewScanner(stdout)}, nil
}

// stop ends the emulator in order, which pulls all devices out.
func (e *emulator) stop() error {
	e.stdin.Close()
	return e.cmd.Wait()
}

func (e *emulator) do(c fakeusb.Command) (fakeusb.Answer, error) {
	if err := json.NewEncoder(e.stdin).Encode(c); err != nil {
		return fakeusb.Answer{}, err
	}
	if !e.lines.Scan() {
		return fakeusb.Answer{}, fmt.Errorf("the usb emulator has ended: %w", e.lines.Err())
	}
	var a fakeusb.Answer
	if err := json.Unmarshal(e.lines.Bytes(), &a); err != nil {
		return a, err
	}
	if a.Error != "" {
		return a, fmt.Errorf("usb emulator: %s", a.Error)
	}
	return a, nil
}

// serial is a serial number that no other device has had. Sound servers remember the mute of each device they have seen, so
// a test that reuses a device inherits its past.
func serial() string {
	bench.serials++
	return fmt.Sprintf("SN%04d", bench.serials)
}

// A device is an emulated device in a port.
type device struct {
	t    *testing.T
	port int
	spec fakeusb.Spec
	in   bool
}

// plug plugs a device in. It is pulled out again at the end of the test.
func plug(t *testing.T, port int, spec fakeusb.Spec) *device {
	t.Helper()
	d := &device{t: t, port: port, spec: spec}
	t.Cleanup(func() {
		if !d.in {
			return
		}
		if t.Failed() {
			t.Logf("the device in port %d says %+v, the sound server %+v", d.port, d.state(), d.sources())
		}
		d.unplug()
	})
	d.replug()
	return d
}

// replug returns when the sound server has what it plays and records with, if it is a headset: one that is pulled out again
// while the sound server looks at it for the first time can leave WirePlumber blind for the next one.
func (d *device) replug() {
	d.t.Helper()
	d.do(fakeusb.Command{Do: fakeusb.DoPlug, Device: &d.spec})
	d.in = true
	if d.spec.Kind == "headset" {
		testlab.Eventually(d.t, "a source and a sink", func() bool {
			return len(d.sources()) == 1 && len(d.sinks()) == 1
		})
	}
}

// unplug pulls the device out and waits until the kernel and the sound server have dropped it, or else the next device in
// this port could be taken for it.
func (d *device) unplug() {
	d.t.Helper()
	d.in = false
	d.do(fakeusb.Command{Do: fakeusb.DoUnplug})
	testlab.Eventually(d.t, "the kernel to drop the device", func() bool { return d.path() == "" })
	testlab.Eventually(d.t, "the sound server to drop the device", func() bool {
		return len(d.sources())+len(d.sinks()) == 0
	})
}

// mute presses the device's mute button and waits until the sound server shows it, if it sees the switch at all.
func (d *device) mute(on bool) {
	d.t.Helper()
	d.do(fakeusb.Command{Do: fakeusb.DoMute, On: on})
	if d.spec.Feature == "" {
		d.source(on)
	}
}

func (d *device) state() fakeusb.State {
	d.t.Helper()
	return *d.do(fakeusb.Command{Do: fakeusb.DoState}).State
}

func (d *device) do(c fakeusb.Command) fakeusb.Answer {
	d.t.Helper()
	c.Port = d.port
	a, err := bench.usb.do(c)
	require.NoError(d.t, err)
	return a
}

// path is the device's folder in sysfs, empty while the kernel does not know it. Ports of the virtual controller count from
// 0, those of the bus from 1.
func (d *device) path() string {
	return only(filepath.Glob(fmt.Sprintf("/sys/devices/platform/vhci_hcd.0/usb1/1-%d", d.port+1)))
}

// node waits for the folder of a device node below the device, "sound/card*" for instance, and until udev has done its work
// on it.
func (d *device) node(pattern string) string {
	d.t.Helper()
	var path string
	testlab.Eventually(d.t, fmt.Sprintf("%s of port %d", pattern, d.port), func() bool {
		path = only(filepath.Glob(filepath.Join(d.path(), pattern)))
		return path != ""
	})
	run(d.t, "udevadm", "wait", "--timeout=60", path)
	return path
}

// properties are what udev knows about a device node.
func properties(t *testing.T, path string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for line := range strings.Lines(run(t, "udevadm", "info", "--query=property", "--path="+path)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		all[name] = value
	}
	return all
}

func only(matches []string, err error) string {
	if err != nil || len(matches) != 1 {
		return ""
	}
	return matches[0]
}
