//go:build vmtest

package guest

import (
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// A card is an ALSA card, seen through alsa-utils: an opinion that is independent of the agent's own ALSA code.
type card struct {
	t      *testing.T
	number string
	path   string // in sysfs
	events *os.File
}

// card waits for the ALSA card of d and subscribes to its control events.
func (d *device) card() *card {
	d.t.Helper()
	path := d.node("*:1.0/sound/card*")
	c := &card{t: d.t, number: strings.TrimPrefix(filepath.Base(path), "card"), path: path}
	d.node("*:1.0/sound/card*/controlC*") // the last that udev handles
	c.subscribe()
	return c
}

// subscribe asks the kernel for control events (SNDRV_CTL_IOCTL_SUBSCRIBE_EVENTS). The subscription has to come before the
// file is handed to Go's poller: the kernel does not wake a poll that began without one.
func (c *card) subscribe() {
	c.t.Helper()
	const subscribeEvents = 0xc0045516
	fd, err := unix.Open("/dev/snd/controlC"+c.number, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	require.NoError(c.t, err)
	require.NoError(c.t, unix.IoctlSetPointerInt(fd, subscribeEvents, 1))
	c.events = os.NewFile(uintptr(fd), "alsa control events")
	c.t.Cleanup(func() { c.events.Close() })
}

// event waits until the kernel says that the value of a control has changed.
func (c *card) event(control string) {
	c.t.Helper()
	// struct snd_ctl_event: type, mask, and the element's id with its name.
	const (
		size      = 72
		maskStart = 4
		nameStart = 24
		nameEnd   = nameStart + 44
		valueMask = 1 << 0
	)
	require.NoError(c.t, c.events.SetReadDeadline(time.Now().Add(patience)))
	var event [size]byte
	for {
		_, err := io.ReadFull(c.events, event[:])
		require.NoError(c.t, err, "waited in vain for an event of %q", control)
		name, _, _ := strings.Cut(string(event[nameStart:nameEnd]), "\x00")
		if name == control && binary.NativeEndian.Uint32(event[maskStart:])&valueMask != 0 {
			return
		}
	}
}

// on reads a switch.
func (c *card) on(control string) bool {
	c.t.Helper()
	out := run(c.t, "amixer", "--card", c.number, "cget", "name="+control)
	return strings.Contains(out, ": values=on")
}

// turn writes a switch, as a mixer application does.
func (c *card) turn(control, value string) {
	c.t.Helper()
	run(c.t, "amixer", "--card", c.number, "cset", "name="+control, value)
}
