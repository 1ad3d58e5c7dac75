package wasapi

import (
	"fmt"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/windows"

	"sidetone/internal/devices"
	"sidetone/internal/platform/windows/com"
)

// processing is the stream that Windows requires before it reports an endpoint's effects. It is never started, so nothing is recorded.
type processing struct {
	stream, manager *com.Object
	callback        *com.Instance
	due             atomic.Bool // the effects must be read again
}

// streamProperties is AudioClientProperties. The category of a stream decides which effects Windows applies.
type streamProperties struct {
	size, offload, category, options uint32
}

const (
	communications = 3
	bufferLength   = 1_000_000 // of 100 ns
)

// effectsClass implements IAudioEffectsChangedNotificationClient.
var effectsClass = sync.OnceValue(func() *com.Class {
	return com.NewClass(ifaceEffectsEvents, func(i *com.Instance) uintptr {
		i.Value.(func())()
		return uintptr(com.OK)
	})
})

// readEffects reads the endpoint's effects if they are wanted. If Windows does not report them they are unknown.
func (e *endpoint) readEffects(c *Client, afresh bool) error {
	if e.kind != devices.AudioInput || e.state != active || c.options.Effects == nil || !c.options.Effects(e.endpoint()) {
		e.effects = nil
		e.closeProcessing()
		return nil
	}
	if !afresh && (e.processing == nil || !e.processing.due.Load()) {
		return e.unread.effects
	}
	e.effects = nil
	err := e.openProcessing(c.options.Changed)
	if err == nil {
		e.effects, err = e.processing.effects()
	}
	if err != nil {
		e.closeProcessing()
		if isAny(err, unsupported) {
			return nil
		}
		return fmt.Errorf("read its effects: %w", err)
	}
	return nil
}

func (e *endpoint) openProcessing(changed func()) (err error) {
	if e.processing != nil {
		return nil
	}
	p := &processing{}
	e.processing = p // also if this fails half way
	p.stream, err = e.device.Object(deviceActivate, uintptr(unsafe.Pointer(&ifaceAudioClient)), inProcess, 0)
	if err != nil {
		return err
	}
	properties := streamProperties{size: uint32(unsafe.Sizeof(streamProperties{})), category: communications}
	if err := p.stream.Call(clientProperties, uintptr(unsafe.Pointer(&properties))); err != nil {
		return err
	}
	var format unsafe.Pointer
	if err := p.stream.Call(clientFormat, uintptr(unsafe.Pointer(&format))); err != nil {
		return err
	}
	defer windows.CoTaskMemFree(format)
	if err := p.stream.Call(clientInitialize, 0, 0, bufferLength, 0, uintptr(format), 0); err != nil {
		return err
	}
	if p.manager, err = p.stream.Object(clientService, uintptr(unsafe.Pointer(&ifaceEffects))); err != nil {
		return err
	}
	callback := effectsClass().New(func() { p.due.Store(true); changed() })
	if err := p.manager.Call(effectsRegister, callback.Pointer()); err != nil {
		callback.Release()
		return err
	}
	p.callback = callback
	return nil
}

// effects lists the effects and whether they are on.
func (p *processing) effects() (map[devices.Field]devices.Tri, error) {
	p.due.Store(false)
	var list *effect
	var count uint32
	if err := p.manager.Call(effectsList, uintptr(unsafe.Pointer(&list)), uintptr(unsafe.Pointer(&count))); err != nil {
		return nil, err
	}
	if list == nil {
		return nil, nil
	}
	defer windows.CoTaskMemFree(unsafe.Pointer(list))
	return flagsOf(unsafe.Slice(list, count)), nil
}

func (e *endpoint) closeProcessing() {
	p := e.processing
	if p == nil {
		return
	}
	e.processing = nil
	if p.callback != nil {
		_ = p.manager.Call(effectsUnregister, p.callback.Pointer())
		p.callback.Release()
	}
	p.manager.Release()
	p.stream.Release()
}
