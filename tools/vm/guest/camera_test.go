//go:build vmtest

package guest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/testlab"
	"sidetone/tools/fakeusb"
)

func camera() fakeusb.Spec {
	return fakeusb.Spec{Kind: "camera", ID: "1209:0720", Manufacturer: "Acme", Name: "Acme Webcam 720", Serial: serial()}
}

// videoNodes waits for both nodes that the driver makes and returns their names: the one for pictures and the one for
// metadata.
func (d *device) videoNodes() (capture, metadata string) {
	d.t.Helper()
	testlab.Eventually(d.t, "the video nodes", func() bool {
		capture, metadata = "", ""
		nodes, err := filepath.Glob(filepath.Join(d.path(), "*:1.0/video4linux/video*"))
		if err != nil || len(nodes) != 2 {
			return false
		}
		for _, node := range nodes {
			run(d.t, "udevadm", "wait", "--timeout=60", node)
			if strings.Contains(properties(d.t, node)["ID_V4L_CAPABILITIES"], ":capture:") {
				capture = filepath.Base(node)
			} else {
				metadata = filepath.Base(node)
			}
		}
		return capture != "" && metadata != ""
	})
	return capture, metadata
}

func TestCameraComesAndGoes(t *testing.T) {
	d := plug(t, 0, camera())
	capture, metadata := d.videoNodes()

	require.Equal(t, videoName(t, capture), videoName(t, metadata), "the name does not tell the nodes apart")
	udev := properties(t, "/sys/class/video4linux/"+capture)
	require.Equal(t, d.spec.Serial, udev["ID_SERIAL_SHORT"])
	require.Equal(t, "1209", udev["ID_VENDOR_ID"])
	require.Equal(t, "0720", udev["ID_MODEL_ID"])
	expect(t, asCamera(bus(t, capture)))

	d.unplug()
	expect(t)
	d.replug()
	capture, _ = d.videoNodes()
	expect(t, asCamera(bus(t, capture)))
}

func TestCameraStreams(t *testing.T) {
	d := plug(t, 0, camera())
	capture, _ := d.videoNodes()
	expect(t, asCamera(bus(t, capture)))
	before := payloads()
	const frames, frameSize = 5, 160 * 120 * 2
	file := filepath.Join(t.TempDir(), "frames")
	run(t, "v4l2-ctl", "--device=/dev/"+capture, "--stream-mmap", "--stream-count=5", "--stream-to="+file)
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.EqualValues(t, frames*frameSize, info.Size())
	require.Equal(t, before, payloads(), "that somebody watches is nothing to report")
}

func TestPrivacyShutter(t *testing.T) {
	d := plug(t, 0, camera())
	capture, _ := d.videoNodes()
	for _, closed := range []bool{true, false} {
		d.do(fakeusb.Command{Do: fakeusb.DoShutter, On: closed})
		want := map[bool]string{true: "privacy: 1", false: "privacy: 0"}[closed]
		testlab.Eventually(t, want, func() bool {
			return strings.TrimSpace(run(t, "v4l2-ctl", "--device=/dev/"+capture, "--get-ctrl=privacy")) == want
		})
	}
}

func TestTwoIdenticalCameras(t *testing.T) {
	spec := camera()
	left, right := plug(t, 0, spec), plug(t, 1, spec)
	a, _ := left.videoNodes()
	b, _ := right.videoNodes()
	require.Equal(t, videoName(t, a), videoName(t, b))
	require.NotEqual(t, bus(t, a), bus(t, b), "only the bus tells them apart")
	expect(t, asCamera(bus(t, a)), asCamera(bus(t, b)))

	remaining := bus(t, b)
	left.unplug()
	expect(t, asCamera(remaining))
}

func videoName(t *testing.T, node string) string {
	t.Helper()
	name, err := os.ReadFile("/sys/class/video4linux/" + node + "/name")
	require.NoError(t, err)
	return strings.TrimSpace(string(name))
}

// bus is the driver's bus_info.
func bus(t *testing.T, node string) string {
	t.Helper()
	for line := range strings.Lines(run(t, "v4l2-ctl", "--device=/dev/"+node, "--info")) {
		if name, value, found := strings.Cut(line, ":"); found && strings.TrimSpace(name) == "Bus info" {
			return strings.TrimSpace(value)
		}
	}
	require.Fail(t, "v4l2-ctl shows no bus info", "of %s", node)
	return ""
}
