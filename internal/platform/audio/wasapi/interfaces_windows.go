package wasapi

import (
	"errors"
	"slices"

	"sidetone/internal/platform/windows/com"
)

// Classes and interfaces of Core Audio.
var (
	classEnumerator    = com.MustGUID("BCDE0395-E52F-467C-8E3D-C4579291692E") // MMDeviceEnumerator
	ifaceEnumerator    = com.MustGUID("A95664D2-9614-4F35-A746-DE8DB63617E6") // IMMDeviceEnumerator
	ifaceNotifications = com.MustGUID("7991EEC9-7E89-4D85-8390-6C703CEC60C0") // IMMNotificationClient
	ifaceVolume        = com.MustGUID("5CDF2C82-841E-4546-9722-0CF74078229A") // IAudioEndpointVolume
	ifaceVolumeEvents  = com.MustGUID("657804FA-D6AD-4496-8A60-352752AF4F89") // IAudioEndpointVolumeCallback
	ifaceTopology      = com.MustGUID("2A07407E-6497-4A18-9787-32F79BD0D98F") // IDeviceTopology
	ifaceAudioClient   = com.MustGUID("726778CD-F60A-4EDA-82DE-E47610CD78AA") // IAudioClient2
	ifaceEffects       = com.MustGUID("4460B3AE-4B44-4527-8676-7548A8ACD260") // IAudioEffectsManager
	ifaceEffectsEvents = com.MustGUID("A5DED44F-3C5D-4B2B-BD1E-5DC1EE20BBF6") // IAudioEffectsChangedNotificationClient
)

// Slots in the tables of methods, which begin with the three of IUnknown.
const (
	enumeratorList       = 3 // EnumAudioEndpoints
	enumeratorDefault    = 4 // GetDefaultAudioEndpoint
	enumeratorDevice     = 5 // GetDevice
	enumeratorRegister   = 6
	enumeratorUnregister = 7

	collectionCount = 3
	collectionItem  = 4

	deviceActivate   = 3
	deviceProperties = 4 // OpenPropertyStore
	deviceID         = 5
	deviceState      = 6

	storeValue = 5 // IPropertyStore's GetValue

	volumeRegister   = 3
	volumeUnregister = 4
	volumeMute       = 15 // GetMute
	volumeSupport    = 19 // QueryHardwareSupport

	topologyConnector  = 4  // GetConnector
	connectorConnected = 10 // GetDeviceIdConnectedTo

	clientInitialize = 3
	clientFormat     = 8 // GetMixFormat
	clientService    = 14
	clientProperties = 16 // SetClientProperties

	effectsRegister   = 3
	effectsUnregister = 4
	effectsList       = 5 // GetAudioEffects
)

// inProcess is CLSCTX_ALL, for what an endpoint activates.
const inProcess = 23

// A propertyKey identifies a property.
type propertyKey struct {
	set com.GUID
	id  uint32
}

var (
	deviceProperty   = com.MustGUID("A45C254E-DF1C-4EFD-8020-67D146A850E0")
	endpointProperty = com.MustGUID("1DA5D803-D492-4EDD-8C23-E0C0FFEE7F0E")
	adapterProperty  = com.MustGUID("026E516E-B814-414B-83CD-856D6FEF4822")

	keyName       = propertyKey{deviceProperty, 14}  // PKEY_Device_FriendlyName
	keyFormFactor = propertyKey{endpointProperty, 0} // PKEY_AudioEndpoint_FormFactor
	keyContainer  = propertyKey{com.MustGUID("8C7ED206-3F8A-4827-B3AB-AE9E1FAEFC6C"), 2}
	keyInstance   = propertyKey{com.MustGUID("78C34FC8-104A-4ACA-9EA4-524D52996E57"), 256}
	// keyAdapter contains the adapter's instance id, too. It is undocumented.
	keyAdapter = propertyKey{com.MustGUID("B3F8FA53-0004-438E-9003-51A46E139BFC"), 2}
)

// ours reports whether the key is from a set with properties that are read. Names are composed of properties of the first and last set.
func (k *propertyKey) ours() bool {
	return k.set == deviceProperty || k.set == endpointProperty || k.set == keyContainer.set || k.set == adapterProperty
}

// absent are the results of calls to a service that is not running.
var absent = []com.HRESULT{
	com.Disconnected, com.ServerDied, com.ServerDiedBeforeCall, com.NotConnected, com.ServiceDisabled, com.ServiceNotActive,
	com.ServerUnavailable, com.CallFailed, com.CallFailedBeforeStart, com.AudioNotRunning,
}

// unsupported are the results for what an endpoint, or this version of Windows, lacks.
var unsupported = []com.HRESULT{com.NotImplemented, com.NoInterface, com.NotFound}

func isAny(err error, results []com.HRESULT) bool {
	return slices.ContainsFunc(results, func(r com.HRESULT) bool { return errors.Is(err, r) })
}
