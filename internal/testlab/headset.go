package testlab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/jfreymuth/pulse/proto"
)

// Headset describes a simulated USB headset. Name becomes part of the names of its devices;
// the other fields become their properties, unless they are empty.
type Headset struct {
	Name        string // letters, digits, '.', '_' and '-'
	Description string // display name; Name if empty
	Vendor      string // the vendor's name
	VID, PID    string // 4 hex digits
	Serial      string
}

// Headset700 is the headset of examples/acme.yaml.
var Headset700 = Headset{
	Name: "acme", Description: "Acme Headset 700", Vendor: "Acme Audio", VID: "1209", PID: "0700", Serial: "A700-0001",
}

// PluggedHeadset is a plugged-in headset.
type PluggedHeadset struct {
	SourceName string // its microphone
	SinkName   string // its earphones

	server  *SoundServer
	modules []uint32 // in the order in which they were loaded
}

var (
	nameForm = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)
	textForm = regexp.MustCompile(`^[^"'\\[:cntrl:]]*$`)
)

func (h Headset) validate() error {
	if !nameForm.MatchString(h.Name) {
		return fmt.Errorf("testlab: headset name %q: only letters, digits, '.', '_' and '-' can be in it", h.Name)
	}
	for _, text := range []string{h.Description, h.Vendor, h.VID, h.PID, h.Serial} {
		if !textForm.MatchString(text) {
			return fmt.Errorf("testlab: headset %s: quotes, backslashes and control characters cannot be in %q", h.Name, text)
		}
	}
	return nil
}

// properties returns the value of a module's sink_properties or source_properties.
func (h Headset) properties() string {
	pairs := []string{
		"device.class=sound", // what hardware has; these modules would say "filter" or nothing
		"device.bus=usb",
		"device.form_factor=headset",
		`device.description="` + cmp.Or(h.Description, h.Name) + `"`,
	}
	for _, p := range []struct{ key, value string }{
		{"device.vendor.name", h.Vendor},
		{"device.vendor.id", h.VID},
		{"device.product.id", h.PID},
		{"device.serial", h.Serial},
	} {
		if p.value != "" {
			pairs = append(pairs, p.key+`="`+p.value+`"`)
		}
	}
	return "'" + strings.Join(pairs, " ") + "'"
}

// PlugHeadset plugs in a simulated headset and returns when the server lists it. The earphones are a
// null sink; the microphone is a remapped monitor of a second null sink, the only virtual source that
// has properties and works on both kinds of server.
func (s *SoundServer) PlugHeadset(ctx context.Context, h Headset) (*PluggedHeadset, error) {
	if err := h.validate(); err != nil {
		return nil, err
	}
	p := &PluggedHeadset{SourceName: h.Name + "_mic", SinkName: h.Name + "_speaker", server: s}
	switch taken, err := s.hasSink(ctx, p.SinkName); {
	case err != nil:
		return nil, err
	case taken: // the server would choose another name
		return nil, fmt.Errorf("testlab: a headset %s is plugged in already", h.Name)
	}
	bus := h.Name + "_bus"
	steps := [][]string{
		{"module-null-sink", "sink_name=" + p.SinkName, "sink_properties=" + h.properties()},
		{"module-null-sink", "sink_name=" + bus},
		{"module-remap-source", "master=" + bus + ".monitor", "source_name=" + p.SourceName, "source_properties=" + h.properties()},
	}
	for _, step := range steps {
		index, err := s.LoadModule(ctx, step[0], step[1:]...)
		if err != nil {
			return nil, errors.Join(err, p.unload(context.WithoutCancel(ctx)))
		}
		p.modules = append(p.modules, index)
	}
	if err := p.wait(ctx, true); err != nil {
		return nil, errors.Join(err, p.unload(context.WithoutCancel(ctx)))
	}
	return p, nil
}

// Unplug unplugs the headset and returns when the server no longer lists it.
func (p *PluggedHeadset) Unplug(ctx context.Context) error {
	if err := p.unload(ctx); err != nil {
		return err
	}
	return p.wait(ctx, false)
}

// SetMute mutes or unmutes the headset's microphone, as a switch on it would.
func (p *PluggedHeadset) SetMute(ctx context.Context, mute bool) error {
	request := &proto.SetSourceMute{SourceIndex: proto.Undefined, SourceName: p.SourceName, Mute: mute}
	return p.server.request(ctx, "mute "+p.SourceName, request, nil)
}

func (p *PluggedHeadset) unload(ctx context.Context) error {
	for i, module := range slices.Backward(p.modules) {
		if err := p.server.UnloadModule(ctx, module); err != nil {
			return err
		}
		p.modules = p.modules[:i]
	}
	return nil
}

// wait waits until both devices are listed, or neither is: PipeWire replies earlier.
func (p *PluggedHeadset) wait(ctx context.Context, present bool) error {
	what := "list the headset"
	if !present {
		what = "drop the headset"
	}
	ctx, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	return p.server.waitFor(ctx, what, func(ctx context.Context) error {
		source, err := p.server.hasSource(ctx, p.SourceName)
		if err != nil {
			return err
		}
		sink, err := p.server.hasSink(ctx, p.SinkName)
		if err == nil && (source != present || sink != present) {
			err = fmt.Errorf("%s listed: %t, %s listed: %t", p.SourceName, source, p.SinkName, sink)
		}
		return err
	})
}
