//go:build cgo

package audio

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/gen2brain/malgo"

	"sidetone/internal/devices"
)

// malgoLister is the lister that malgo, the Go binding of miniaudio, provides. It is used by
// one goroutine only.
type malgoLister struct {
	backend malgo.Backend
	ctx     *malgo.AllocatedContext
	epoch   uint64
}

// newLister returns the lister for a backend, by miniaudio's name for it.
func newLister() lister { return &malgoLister{backend: malgoBackend()} }

// malgoBackend is the one backend to use: left to itself, miniaudio would fall back to
// listing ALSA's pseudo devices when the sound server is away.
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

func (m *malgoLister) list(server string, epoch uint64) ([]listed, error) {
	if m.ctx != nil && m.epoch != epoch {
		m.free()
	}
	if m.ctx == nil {
		if err := m.init(server); err != nil {
			return nil, fmt.Errorf("miniaudio: connect to %q: %w", server, err)
		}
		m.epoch = epoch
	}
	var out []listed
	for kind, typ := range map[malgo.DeviceType]devices.Type{malgo.Capture: devices.AudioInput, malgo.Playback: devices.AudioOutput} {
		infos, err := m.ctx.Devices(kind)
		if err != nil {
			m.free() // a context that has failed once fails for ever
			return nil, fmt.Errorf("miniaudio: list %s endpoints: %w", typ, err)
		}
		for i := range infos {
			info := &infos[i]
			out = append(out, listed{
				id:       strings.TrimRight(string(info.ID[:]), "\x00"),
				typ:      typ,
				name:     info.Name(),
				standard: info.IsDefault != 0,
			})
		}
	}
	return out, nil
}

// init connects. A failed attempt leaks a descriptor inside miniaudio, so it is called only
// when the server is known to accept connections.
func (m *malgoLister) init(server string) error {
	var config malgo.ContextConfig
	var pins runtime.Pinner
	defer pins.Unpin()
	cstring := func(s string) *byte {
		b := append([]byte(s), 0)
		pins.Pin(&b[0])
		return &b[0]
	}
	config.Pulse.PApplicationName = cstring("sidetone")
	if server != "" {
		config.Pulse.PServerName = cstring(server)
	}
	ctx, err := malgo.InitContext([]malgo.Backend{m.backend}, config, nil)
	if err != nil {
		return err
	}
	m.ctx = ctx
	return nil
}

func (m *malgoLister) free() {
	if m.ctx != nil {
		_ = m.ctx.Uninit()
		m.ctx.Free()
		m.ctx = nil
	}
}
