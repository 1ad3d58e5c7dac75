package wasapitest

import (
	"slices"
	"strings"
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
	ifaceTopology   = com.MustGUID("2A07407E-6497-4A18-9787-32F79BD0D98F")
	ifaceStream     = com.MustGUID("726778CD-F60A-4EDA-82DE-E47610CD78AA") // IAudioClient2
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

// call answers the call of a method, unless that is to fail.
func (p part) call(method string, answer func(part) uintptr) uintptr {
	if h := p.enter(method, p.id); h.Err() != nil {
		return uintptr(h)
	}
	return answer(p)
}

func create(class *com.Class, p part, out **com.Instance) uintptr {
	*out = class.New(p)
	return uintptr(com.OK)
}

const (
	notFound       = uintptr(com.NotFound)
	noInterface    = uintptr(com.NoInterface)
	invalidated    = uintptr(com.DeviceInvalidated)
	notImplemented = uintptr(com.NotImplemented)
)

func unused(*com.Instance) uintptr { return notImplemented }

func ok(part) uintptr { return uintptr(com.OK) }

var factoryClass = sync.OnceValue(func() *com.Class {
	return com.NewClass(com.MustGUID("00000001-0000-0000-C000-000000000046"),
		func(i *com.Instance, _, _ uintptr, out **com.Instance) uintptr {
			return part{Server: i.Value.(*Server)}.call("CreateInstance", func(p part) uintptr { return create(enumeratorClass(), p, out) })
		},
		func(*com.Instance, uintptr) uintptr { return 0 }, // LockServer
	)
})

var enumeratorClass = sync.OnceValue(func() *com.Class {
	return com.NewClass(ifaceEnumerator,
		func(i *com.Instance, flow, states uintptr, out **com.Instance) uintptr {
			return of(i).call("EnumAudioEndpoints", func(p part) uintptr {
				p.mu.Lock()
				defer p.mu.Unlock()
				for id, e := range p.endpoints {
					if e.isInput() == (uint32(flow) == 1) && e.state()&uint32(states) != 0 {
						p.list = append(p.list, id)
					}
				}
				slices.Sort(p.list)
				return create(collectionClass(), p, out)
			})
		},
		func(i *com.Instance, flow, _ uintptr, out **com.Instance) uintptr {
			return of(i).call("GetDefaultAudioEndpoint", func(p part) uintptr {
				p.mu.Lock()
				defer p.mu.Unlock()
				p.id = p.chosen[uint32(flow) == 1]
				if p.id == "" {
					return notFound
				}
				return create(deviceClass(), p, out)
			})
		},
		func(i *com.Instance, id *uint16, out **com.Instance) uintptr { // also asked for adapters
			p := of(i)
			p.id = windows.UTF16PtrToString(id)
			return p.call("GetDevice", func(p part) uintptr { return create(deviceClass(), p, out) })
		},
		func(i *com.Instance, l *com.Object) uintptr {
			return of(i).call("RegisterEndpointNotificationCallback", func(p part) uintptr { return p.listeners.add("", l) })
		},
		func(i *com.Instance, l *com.Object) uintptr { // UnregisterEndpointNotificationCallback
			return of(i).listeners.remove("", l)
		},
	)
})

var collectionClass = sync.OnceValue(func() *com.Class {
	return com.NewClass(com.MustGUID("0BD7A1BE-7A1A-44DB-8397-CC5392387B5E"),
		func(i *com.Instance, count *uint32) uintptr {
			*count = uint32(len(of(i).list))
			return of(i).call("GetCount", ok)
		},
		func(i *com.Instance, at uintptr, out **com.Instance) uintptr {
			p := of(i)
			p.id = p.list[uint32(at)]
			return p.call("Item", func(p part) uintptr { return create(deviceClass(), p, out) })
		},
	)
})

var deviceClass = sync.OnceValue(func() *com.Class {
	interfaces := map[com.GUID]struct {
		name  string
		class func() *com.Class
	}{
		ifaceVolume:   {"IAudioEndpointVolume", volumeClass},
		ifaceTopology: {"IDeviceTopology", topologyClass},
		ifaceStream:   {"IAudioClient2", streamClass},
	}
	return com.NewClass(com.MustGUID("D666063F-1587-4E43-81F1-B948E807363F"),
		func(i *com.Instance, iface *com.GUID, _, _ uintptr, out **com.Instance) uintptr {
			known, is := interfaces[*iface]
			if !is {
				return noInterface
			}
			return of(i).call("Activate "+known.name, func(p part) uintptr {
				if _, there := p.endpoint(p.id); !there {
					return invalidated
				}
				return create(known.class(), p, out)
			})
		},
		func(i *com.Instance, _ uintptr, out **com.Instance) uintptr {
			return of(i).call("OpenPropertyStore", func(p part) uintptr { return create(storeClass(), p, out) })
		},
		func(i *com.Instance, out **uint16) uintptr {
			*out = allocateText(of(i).id)
			return of(i).call("GetId", ok)
		},
		func(i *com.Instance, state *uint32) uintptr {
			return of(i).call("GetState", func(p part) uintptr {
				e, there := p.endpoint(p.id)
				*state = e.state()
				if !there {
					*state = 4 // DEVICE_STATE_NOTPRESENT
				}
				return 0
			})
		},
	)
})

var storeClass = sync.OnceValue(func() *com.Class {
	return com.NewClass(com.MustGUID("886D8EEB-8CF2-4446-8D02-CDBA1DBDCF99"), unused, unused,
		func(i *com.Instance, key *propertyKey, out *variant) uintptr {
			*out = variant{}
			return of(i).call("GetValue", func(p part) uintptr {
				adapter, isAdapter := strings.CutPrefix(p.id, adapterPrefix)
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
					return out.set(e.Container)
				}
				return 0
			})
		},
	)
})

var topologyClass = sync.OnceValue(func() *com.Class {
	return com.NewClass(ifaceTopology, unused,
		func(i *com.Instance, _ uintptr, out **com.Instance) uintptr {
			return of(i).call("GetConnector", func(p part) uintptr { return create(connectorClass(), p, out) })
		},
	)
})

// adapterPrefix precedes the id of an endpoint in the id of its adapter.
const adapterPrefix = `{2}.\\?\adapter of `

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
		func(i *com.Instance, c *com.Object) uintptr {
			return of(i).call("RegisterControlChangeNotify", func(p part) uintptr { return p.volumes.add(p.id, c) })
		},
		func(i *com.Instance, c *com.Object) uintptr { return of(i).volumes.remove(of(i).id, c) },
	}
	for len(methods) < 12 {
		methods = append(methods, unused)
	}
	return com.NewClass(ifaceVolume, append(methods,
		func(i *com.Instance, muted *int32) uintptr {
			return of(i).call("GetMute", func(p part) uintptr {
				e, there := p.endpoint(p.id)
				if !there {
					return invalidated
				}
				*muted = int32(flag(e.Mute))
				return 0
			})
		}, unused, unused, unused,
		func(i *com.Instance, support *uint32) uintptr {
			e, _ := of(i).endpoint(of(i).id)
			*support = e.Support
			return of(i).call("QueryHardwareSupport", ok)
		},
	)...)
})

var streamClass = sync.OnceValue(func() *com.Class {
	return com.NewClass(ifaceStream,
		func(i *com.Instance, _, _, _, _, _, _ uintptr) uintptr { return of(i).call("Initialize", ok) },
		unused, unused, unused, unused,
		func(_ *com.Instance, out *unsafe.Pointer) uintptr { // GetMixFormat
			*out = allocate(18)
			return 0
		},
		unused,
		func(i *com.Instance) uintptr { return of(i).call("Start", ok) },
		unused, unused, unused,
		func(i *com.Instance, _ *com.GUID, out **com.Instance) uintptr { // GetService
			if e, _ := of(i).endpoint(of(i).id); e.Effects == nil {
				return noInterface
			}
			return create(managerClass(), of(i), out)
		},
		unused,
		func(*com.Instance, uintptr) uintptr { return 0 }, // SetClientProperties
	)
})

var managerClass = sync.OnceValue(func() *com.Class {
	return com.NewClass(com.MustGUID("4460B3AE-4B44-4527-8676-7548A8ACD260"),
		func(i *com.Instance, c *com.Object) uintptr { return of(i).effects.add(of(i).id, c) },
		func(i *com.Instance, c *com.Object) uintptr { return of(i).effects.remove(of(i).id, c) },
		func(i *com.Instance, out *unsafe.Pointer, count *uint32) uintptr {
			return of(i).call("GetAudioEffects", func(p part) uintptr {
				e, _ := p.endpoint(p.id)
				*out, *count = allocate(len(e.Effects)*int(unsafe.Sizeof(Effect{}))), uint32(len(e.Effects))
				copy(unsafe.Slice((*Effect)(*out), len(e.Effects)), e.Effects)
				return 0
			})
		},
	)
})

var taskMemory = ole32.NewProc("CoTaskMemAlloc")

// allocate returns memory that the receiver frees.
func allocate(size int) unsafe.Pointer {
	r, _, _ := taskMemory.Call(uintptr(max(size, 1)))
	return *(*unsafe.Pointer)(unsafe.Pointer(&r))
}

func allocateText(text string) *uint16 {
	units, _ := windows.UTF16FromString(text)
	to := (*uint16)(allocate(2 * len(units)))
	copy(unsafe.Slice(to, len(units)), units)
	return to
}

// variant is a PROPVARIANT.
type variant struct {
	kind          uint16
	_             [3]uint16
	value, value2 uintptr
}

// set stores a value with its type. One of another type leaves the variant empty.
func (v *variant) set(value any) uintptr {
	switch value := value.(type) {
	case string:
		v.kind, v.value = 31, uintptr(unsafe.Pointer(allocateText(value)))
	case uint32:
		v.kind, v.value = 19, uintptr(value)
	case com.GUID:
		to := (*com.GUID)(allocate(16))
		*to = value
		v.kind, v.value = 72, uintptr(unsafe.Pointer(to))
	case []byte:
		to := allocate(len(value))
		copy(unsafe.Slice((*byte)(to), len(value)), value)
		v.kind, v.value, v.value2 = 65, uintptr(len(value)), uintptr(to)
	}
	return 0
}
