package wasapitest

import (
	"slices"
	"sync"
	"unsafe"

	"golang.org/x/sys/windows"

	"sidetone/internal/platform/windows/com"
)

// Slots of the methods that the stand-in calls.
const (
	addRef = 1

	onState    = 3
	onAdded    = 4
	onRemoved  = 5
	onDefault  = 6
	onProperty = 7

	onVolume  = 3
	onEffects = 3
)

var (
	classEnumerator = com.MustGUID("BCDE0395-E52F-467C-8E3D-C4579291692E") // MMDeviceEnumerator
	ifaceEnumerator = com.MustGUID("A95664D2-9614-4F35-A746-DE8DB63617E6")
	ifaceVolume     = com.MustGUID("5CDF2C82-841E-4546-9722-0CF74078229A")
)

type propertyKey struct {
	set com.GUID
	id  uint32
}

var (
	keyName      = propertyKey{com.MustGUID("A45C254E-DF1C-4EFD-8020-67D146A850E0"), 14}
	keyForm      = propertyKey{com.MustGUID("1DA5D803-D492-4EDD-8C23-E0C0FFEE7F0E"), 0}
	keyContainer = propertyKey{com.MustGUID("8C7ED206-3F8A-4827-B3AB-AE9E1FAEFC6C"), 2}
	keyInstance  = propertyKey{com.MustGUID("78C34FC8-104A-4ACA-9EA4-524D52996E57"), 256}
)

// A part is an object of one endpoint, or of all.
type part struct {
	*Server
	id   string
	list []string // of a collection
}

func of(i *com.Instance) part { return i.Value.(part) }

// hand makes an object for a caller.
func hand(class *com.Class, p part, out **com.Instance) uintptr {
	*out = class.New(p)
	return uintptr(com.OK)
}

// answer is hand for a method that tests can make fail.
func (p part) answer(method string, class *com.Class, out **com.Instance) uintptr {
	if h := p.enter(method, p.id); h.Err() != nil {
		return uintptr(h)
	}
	return hand(class, p, out)
}

const (
	notFound       = uintptr(com.NotFound)
	noInterface    = uintptr(com.NoInterface)
	invalidated    = uintptr(com.DeviceInvalidated)
	notImplemented = uintptr(com.NotImplemented)
)

func unused(*com.Instance) uintptr { return notImplemented }

var factoryClass = sync.OnceValue(func() *com.Class {
	return com.NewClass(com.MustGUID("00000001-0000-0000-C000-000000000046"),
		func(i *com.Instance, _, _ uintptr, out **com.Instance) uintptr { // CreateInstance
			return part{Server: i.Value.(*Server)}.answer("CreateInstance", enumeratorClass(), out)
		},
		func(*com.Instance, uintptr) uintptr { return 0 }, // LockServer
	)
})

var enumeratorClass = sync.OnceValue(func() *com.Class {
	return com.NewClass(ifaceEnumerator,
		func(i *com.Instance, flow, states uintptr, out **com.Instance) uintptr { // EnumAudioEndpoints
			p := of(i)
			if h := p.enter("EnumAudioEndpoints", ""); h.Err() != nil {
				return uintptr(h)
			}
			p.mu.Lock()
			defer p.mu.Unlock()
			for id, e := range p.endpoints {
				if e.isInput() == (uint32(flow) == 1) && e.state()&uint32(states) != 0 {
					p.list = append(p.list, id)
				}
			}
			slices.Sort(p.list)
			return hand(collectionClass(), p, out)
		},
		func(i *com.Instance, flow, _ uintptr, out **com.Instance) uintptr { // GetDefaultAudioEndpoint
			p := of(i)
			if h := p.enter("GetDefaultAudioEndpoint", ""); h.Err() != nil {
				return uintptr(h)
			}
			p.mu.Lock()
			defer p.mu.Unlock()
			if p.id = p.chosen[uint32(flow) == 1]; p.id == "" {
				return notFound
			}
			return hand(deviceClass(), p, out)
		},
		func(i *com.Instance, id *uint16, out **com.Instance) uintptr { // GetDevice, which is asked for adapters
			p := of(i)
			p.id = windows.UTF16PtrToString(id)
			return p.answer("GetDevice", deviceClass(), out)
		},
		func(i *com.Instance, l *com.Object) uintptr { // RegisterEndpointNotificationCallback
			p := of(i)
			if h := p.enter("RegisterEndpointNotificationCallback", ""); h.Err() != nil {
				return uintptr(h)
			}
			return p.listeners.add("", l)
		},
		func(i *com.Instance, l *com.Object) uintptr { // Unregister…
			return of(i).listeners.remove("", l)
		},
	)
})

var collectionClass = sync.OnceValue(func() *com.Class {
	return com.NewClass(com.MustGUID("0BD7A1BE-7A1A-44DB-8397-CC5392387B5E"),
		func(i *com.Instance, count *uint32) uintptr {
			*count = uint32(len(of(i).list))
			return uintptr(of(i).enter("GetCount", ""))
		},
		func(i *com.Instance, at uintptr, out **com.Instance) uintptr { // Item
			p := of(i)
			p.id = p.list[uint32(at)]
			return p.answer("Item", deviceClass(), out)
		},
	)
})

var deviceClass = sync.OnceValue(func() *com.Class {
	return com.NewClass(com.MustGUID("D666063F-1587-4E43-81F1-B948E807363F"),
		func(i *com.Instance, iface *com.GUID, _, _ uintptr, out **com.Instance) uintptr { // Activate
			p := of(i)
			for _, known := range []struct {
				name  string
				iface com.GUID
				class func() *com.Class
			}{
				{"IAudioEndpointVolume", ifaceVolume, volumeClass},
				{"IDeviceTopology", com.MustGUID("2A07407E-6497-4A18-9787-32F79BD0D98F"), topologyClass},
				{"IAudioClient2", com.MustGUID("726778CD-F60A-4EDA-82DE-E47610CD78AA"), streamClass},
			} {
				if *iface != known.iface {
					continue
				}
				if h := p.enter("Activate "+known.name, p.id); h.Err() != nil {
					return uintptr(h)
				}
				if _, there := p.endpoint(p.id); !there {
					return invalidated
				}
				return hand(known.class(), p, out)
			}
			return noInterface
		},
		func(i *com.Instance, _ uintptr, out **com.Instance) uintptr { // OpenPropertyStore
			return of(i).answer("OpenPropertyStore", storeClass(), out)
		},
		func(i *com.Instance, out **uint16) uintptr { // GetId
			p := of(i)
			*out = allocateText(p.id)
			return uintptr(p.enter("GetId", p.id))
		},
		func(i *com.Instance, state *uint32) uintptr { // GetState
			p := of(i)
			if h := p.enter("GetState", p.id); h.Err() != nil {
				return uintptr(h)
			}
			e, there := p.endpoint(p.id)
			*state = e.state()
			if !there {
				*state = 4 // DEVICE_STATE_NOTPRESENT
			}
			return 0
		},
	)
})

var storeClass = sync.OnceValue(func() *com.Class {
	return com.NewClass(com.MustGUID("886D8EEB-8CF2-4446-8D02-CDBA1DBDCF99"), unused, unused,
		func(i *com.Instance, key *propertyKey, out *variant) uintptr { // GetValue
			p := of(i)
			*out = variant{}
			if h := p.enter("GetValue", p.id); h.Err() != nil {
				return uintptr(h)
			}
			adapter, isAdapter := adapterOf(p.id)
			e, there := p.endpoint(p.id)
			switch {
			case isAdapter && *key == keyInstance:
				e, _ = p.endpoint(adapter)
				return out.set(e.Adapter)
			case !there:
				return invalidated
			case *key == keyName:
				return out.set(e.Name)
			case *key == keyForm:
				return out.set(e.Form)
			case *key == keyContainer:
				return out.set(e.Holder)
			}
			return 0
		},
	)
})

var topologyClass = sync.OnceValue(func() *com.Class {
	return com.NewClass(com.MustGUID("2A07407E-6497-4A18-9787-32F79BD0D98F"), unused,
		func(i *com.Instance, _ uintptr, out **com.Instance) uintptr { // GetConnector
			return of(i).answer("GetConnector", connectorClass(), out)
		},
	)
})

// adapterPrefix precedes the id of an endpoint in that of its adapter.
const adapterPrefix = `{2}.\\?\adapter of `

func adapterOf(id string) (endpoint string, ok bool) {
	if len(id) < len(adapterPrefix) || id[:len(adapterPrefix)] != adapterPrefix {
		return "", false
	}
	return id[len(adapterPrefix):], true
}

var connectorClass = sync.OnceValue(func() *com.Class {
	return com.NewClass(com.MustGUID("9C2C4058-23F5-41DE-877A-DF3AF236A09E"), unused, unused, unused, unused, unused, unused, unused,
		func(i *com.Instance, out **uint16) uintptr { // GetDeviceIdConnectedTo
			*out = allocateText(adapterPrefix + of(i).id)
			return 0
		},
	)
})

var volumeClass = sync.OnceValue(func() *com.Class {
	methods := []any{
		func(i *com.Instance, c *com.Object) uintptr { // RegisterControlChangeNotify
			p := of(i)
			if h := p.enter("RegisterControlChangeNotify", p.id); h.Err() != nil {
				return uintptr(h)
			}
			return p.volumes.add(p.id, c)
		},
		func(i *com.Instance, c *com.Object) uintptr { return of(i).volumes.remove(of(i).id, c) },
	}
	for len(methods) < 12 {
		methods = append(methods, unused)
	}
	return com.NewClass(ifaceVolume, append(methods,
		func(i *com.Instance, muted *int32) uintptr { // GetMute
			p := of(i)
			if h := p.enter("GetMute", p.id); h.Err() != nil {
				return uintptr(h)
			}
			e, there := p.endpoint(p.id)
			if !there {
				return invalidated
			}
			*muted = 0
			if e.Mute {
				*muted = 1
			}
			return 0
		}, unused, unused, unused,
		func(i *com.Instance, support *uint32) uintptr { // QueryHardwareSupport
			e, _ := of(i).endpoint(of(i).id)
			*support = e.Support
			return uintptr(of(i).enter("QueryHardwareSupport", of(i).id))
		},
	)...)
})

var streamClass = sync.OnceValue(func() *com.Class {
	fine := func(*com.Instance, uintptr) uintptr { return 0 }
	return com.NewClass(com.MustGUID("726778CD-F60A-4EDA-82DE-E47610CD78AA"),
		func(i *com.Instance, _, _, _, _, _, _ uintptr) uintptr {
			return uintptr(of(i).enter("Initialize", of(i).id))
		},
		unused, unused, unused, unused,
		func(_ *com.Instance, out *unsafe.Pointer) uintptr { // GetMixFormat
			*out = allocate(18)
			return 0
		},
		unused,
		func(i *com.Instance) uintptr { return uintptr(of(i).enter("Start", of(i).id)) },
		unused, unused, unused,
		func(i *com.Instance, _ *com.GUID, out **com.Instance) uintptr { // GetService
			if e, _ := of(i).endpoint(of(i).id); e.Effects == nil {
				return noInterface
			}
			return hand(managerClass(), of(i), out)
		},
		unused,
		fine, // SetClientProperties
	)
})

var managerClass = sync.OnceValue(func() *com.Class {
	return com.NewClass(com.MustGUID("4460B3AE-4B44-4527-8676-7548A8ACD260"),
		func(i *com.Instance, c *com.Object) uintptr { return of(i).effects.add(of(i).id, c) },
		func(i *com.Instance, c *com.Object) uintptr { return of(i).effects.remove(of(i).id, c) },
		func(i *com.Instance, out *unsafe.Pointer, count *uint32) uintptr { // GetAudioEffects
			if h := of(i).enter("GetAudioEffects", of(i).id); h.Err() != nil {
				return uintptr(h)
			}
			e, _ := of(i).endpoint(of(i).id)
			*out, *count = allocate(len(e.Effects)*int(unsafe.Sizeof(Effect{}))), uint32(len(e.Effects))
			copy(unsafe.Slice((*Effect)(*out), len(e.Effects)), e.Effects)
			return 0
		},
	)
})
