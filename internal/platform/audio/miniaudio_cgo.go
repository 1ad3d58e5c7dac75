//go:build cgo

package audio

import (
	"context"
	"encoding/binary"
	"fmt"
	"runtime"
	"strings"
	"unicode/utf16"

	"github.com/gen2brain/malgo"

	"sidetone/internal/devices"
)

func newLister() lister {
	if hasChildMode.Load() {
		return newChildLister().list
	}
	return listWithMalgo
}

// malgoBackend returns the only backend to use: by itself, miniaudio would fall back to ALSA's pseudo devices while the sound server is
// away.
func malgoBackend() malgo.Backend {
	switch runtime.GOOS {
	case "windows":
		return malgo.BackendWasapi
	case "darwin":
		return malgo.BackendCoreaudio
	default:
		return malgo.BackendPulseaudio
	}
}

// listWithMalgo lists with malgo, the Go binding of miniaudio. It connects, lists and disconnects: a context does not survive a restart of
// the sound server.
func listWithMalgo(_ context.Context, server string) (out []enumeratedDevice, err error) {
	ctx, err := connectMalgo(server)
	if err != nil {
		return nil, fmt.Errorf("miniaudio: connect to %q: %w", server, err)
	}
	defer func() {
		_ = ctx.Uninit()
		ctx.Free()
	}()
	for kind, typ := range map[malgo.DeviceType]devices.Type{malgo.Capture: devices.AudioInput, malgo.Playback: devices.AudioOutput} {
		infos, err := ctx.Devices(kind)
		if err != nil {
			return nil, fmt.Errorf("miniaudio: list %s endpoints: %w", typ, err)
		}
		for i := range infos {
			info := &infos[i]
			out = append(out, enumeratedDevice{ID: malgoID(info.ID[:]), Type: typ, Default: info.IsDefault != 0})
		}
	}
	return out, nil
}

// malgoID converts an endpoint's id to the form of the system's own.
func malgoID(raw []byte) string {
	if runtime.GOOS == "windows" {
		return wideText(raw)
	}
	return strings.TrimRight(string(raw), "\x00")
}

// connectMalgo makes a context. A failed attempt leaks a file descriptor inside miniaudio, so it is made only when the server is known to
// accept connections.
func connectMalgo(server string) (*malgo.AllocatedContext, error) {
	var config malgo.ContextConfig
	var pins runtime.Pinner
	defer pins.Unpin()
	if server != "" {
		b := append([]byte(server), 0)
		pins.Pin(&b[0])
		config.Pulse.PServerName = &b[0]
	}
	return malgo.InitContext([]malgo.Backend{malgoBackend()}, config, nil)
}

// wideText decodes little-endian UTF-16 up to the first zero.
func wideText(raw []byte) string {
	var units []uint16
	for ; len(raw) >= 2 && (raw[0] != 0 || raw[1] != 0); raw = raw[2:] {
		units = append(units, binary.LittleEndian.Uint16(raw))
	}
	return string(utf16.Decode(units))
}
