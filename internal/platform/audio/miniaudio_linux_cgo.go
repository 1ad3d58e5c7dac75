//go:build linux && cgo

package audio

import (
	"fmt"

	"github.com/gen2brain/malgo"

	"sidetone/internal/devices"
	"sidetone/internal/platform/linux"
)

// miniaudioLister returns listByMiniaudio.
func miniaudioLister() func() ([]alsaPCM, error) { return listByMiniaudio }

// listByMiniaudio lists ALSA's PCMs with malgo, the Go binding of miniaudio, which opens none of them. It may take as long as a driver.
func listByMiniaudio() (list []alsaPCM, err error) {
	config := malgo.ContextConfig{Alsa: malgo.AlsaContextConfig{UseVerboseDeviceEnumeration: 1}} // the names that ALSA has
	ctx, err := malgo.InitContext([]malgo.Backend{malgo.BackendAlsa}, config, nil)
	if err != nil {
		return nil, fmt.Errorf("miniaudio: load ALSA's library: %w", err)
	}
	defer func() {
		_ = ctx.Uninit()
		ctx.Free()
	}()
	for kind, typ := range map[malgo.DeviceType]devices.Type{malgo.Capture: devices.AudioInput, malgo.Playback: devices.AudioOutput} {
		infos, err := ctx.Devices(kind)
		if err != nil {
			return nil, fmt.Errorf("miniaudio: list each %s of ALSA: %w", typ, err)
		}
		for i := range infos {
			list = append(list, alsaPCM{linux.CString(infos[i].ID[:]), infos[i].Name(), typ})
		}
	}
	return list, nil
}
