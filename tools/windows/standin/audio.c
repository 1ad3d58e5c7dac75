// audio.c stands in for Windows' Core Audio under Wine, for tests: a DLL with the class MMDeviceEnumerator, whose endpoints are the same
// for all programs of a prefix. They are in a file beside the DLL, which every program that loads it maps, and each is woken by an event
// of its own when another has changed them. It never ships.
#define CINTERFACE
#define COBJMACROS
#include <initguid.h>
#include <windows.h>
#include <mmdeviceapi.h>
#include <endpointvolume.h>
#include <audioclient.h>
#include <devicetopology.h>

#define MOST 8 // endpoints, and programs
#define KEPT 64 // callbacks of one program

DEFINE_GUID(iid_effects, 0x4460B3AE, 0x4B44, 0x4527, 0x86, 0x76, 0x75, 0x48, 0xA8, 0xAC, 0xD2, 0x60);
DEFINE_GUID(iid_stream, 0x726778CD, 0xF60A, 0x4EDA, 0x82, 0xDE, 0xE4, 0x76, 0x10, 0xCD, 0x78, 0xAA);
DEFINE_GUID(iid_topology, 0x2A07407E, 0x6497, 0x4A18, 0x97, 0x87, 0x32, 0xF7, 0x9B, 0xD0, 0xD9, 0x8F);
DEFINE_GUID(iid_volume, 0x5CDF2C82, 0x841E, 0x4546, 0x97, 0x22, 0x0C, 0xF7, 0x40, 0x78, 0x22, 0x9A);
DEFINE_GUID(iid_flow, 0x1BE09788, 0x6894, 0x4089, 0x85, 0x86, 0x9A, 0x2A, 0x6C, 0x26, 0x5A, 0xC5);
DEFINE_PROPERTYKEY(key_name, 0xA45C254E, 0xDF1C, 0x4EFD, 0x80, 0x20, 0x67, 0xD1, 0x46, 0xA8, 0x50, 0xE0, 14);
DEFINE_PROPERTYKEY(key_form, 0x1DA5D803, 0xD492, 0x4EDD, 0x8C, 0x23, 0xE0, 0xC0, 0xFF, 0xEE, 0x7F, 0x0E, 0);
DEFINE_PROPERTYKEY(key_container, 0x8C7ED206, 0x3F8A, 0x4827, 0xB3, 0xAB, 0xAE, 0x9E, 0x1F, 0xAE, 0xFC, 0x6C, 2);
DEFINE_PROPERTYKEY(key_instance, 0x78C34FC8, 0x104A, 0x4ACA, 0x9E, 0xA4, 0x52, 0x4D, 0x52, 0x99, 0x6E, 0x57, 256);

typedef struct {
	GUID id;
	BOOL settable, on;
} effect;

// wasapitest's record is the same.
typedef struct {
	DWORD state; // 0: it is not plugged in
	DWORD plugged; // how often it was
	DWORD form, support;
	LONG mute;
	DWORD chosen; // it is the default
	DWORD effects; // how many
	GUID container;
	effect effect[4];
	WCHAR id[64], name[320], adapter[64];
} endpoint;

typedef struct {
	LONG writing; // odd: somebody does
	LONG result; // of all calls
	LONG life; // how often the service was started
	LONG programs; // the most that there were at once
	endpoint all[MOST];
} state;

typedef struct object {
	const void *const *methods;
	LONG refs, life;
	int at; // of its endpoint
	DWORD plugged;
	BOOL adapter; // it is that behind the endpoint
	UINT count; // of a collection
	int list[MOST];
} object;

typedef struct effects_listener {
	struct {
		void *unknown[3];
		HRESULT(STDMETHODCALLTYPE *changed)(struct effects_listener *);
	} *methods;
} effects_listener;

enum { LISTENER, VOLUME, EFFECTS };

typedef struct {
	IUnknown *target; // NULL: none
	int kind, at;
	LONG life;
} callback;

static HMODULE self;
static INIT_ONCE once = INIT_ONCE_STATIC_INIT;
static CRITICAL_SECTION lock; // of callbacks
static callback callbacks[KEPT];
static state *shared, before;
static HANDLE changed;

static void event_name(WCHAR *name, LONG n) {
	lstrcpyW(name, L"Local\\sidetone-audio-0");
	name[lstrlenW(name) - 1] += n;
}

static void wake(void) {
	WCHAR name[32];
	for (LONG n = 0; n < shared->programs; n++) {
		event_name(name, n);
		HANDLE event = OpenEventW(EVENT_MODIFY_STATE, FALSE, name);
		if (!event) continue;
		SetEvent(event);
		CloseHandle(event);
	}
}

static void copy(state *to) {
	LONG writing;
	do {
		writing = InterlockedAdd(&shared->writing, 0);
		memcpy(to, shared, sizeof *to);
	} while (writing % 2 || writing != InterlockedAdd(&shared->writing, 0));
}

static void tell(const callback *c, const endpoint *was, const endpoint *is) {
	IMMNotificationClient *listener = (void *)c->target;
	BOOL came = was->plugged != is->plugged;
	AUDIO_VOLUME_NOTIFICATION_DATA volume = {.bMuted = is->mute, .nChannels = 1};
	if (c->kind == LISTENER) {
		if (was->state && (came || !is->state)) IMMNotificationClient_OnDeviceRemoved(listener, was->id);
		if (is->state && (came || !was->state)) IMMNotificationClient_OnDeviceAdded(listener, is->id);
		if (was->state && is->state && was->state != is->state)
			IMMNotificationClient_OnDeviceStateChanged(listener, is->id, is->state);
		if (is->chosen && !was->chosen) IMMNotificationClient_OnDefaultDeviceChanged(listener, is->id[5] - '0', eConsole, is->id);
		if (lstrcmpW(was->name, is->name)) IMMNotificationClient_OnPropertyValueChanged(listener, is->id, key_name);
	} else if (c->kind == VOLUME) {
		IAudioEndpointVolumeCallback_OnNotify((IAudioEndpointVolumeCallback *)c->target, &volume);
	} else {
		effects_listener *l = (void *)c->target;
		l->methods->changed(l);
	}
}

// concerns tells whether there is something to tell.
static BOOL concerns(const callback *c, const endpoint *was, const endpoint *is) {
	if (c->kind == VOLUME) return was->mute != is->mute;
	if (c->kind == EFFECTS) return memcmp(was->effect, is->effect, sizeof was->effect);
	return was->plugged != is->plugged || was->state != is->state || was->chosen != is->chosen || lstrcmpW(was->name, is->name);
}

// follow calls those whom it concerns, and touches no others: to call into Go takes its time. One may be removed while it is called, as
// with Windows.
static DWORD WINAPI follow(void *unused) {
	static state now;
	for (;; before = now) {
		WaitForSingleObject(changed, INFINITE);
		copy(&now);
		for (int i = 0; i < KEPT * MOST; i++) {
			const endpoint *was = &before.all[i % MOST], *is = &now.all[i % MOST];
			EnterCriticalSection(&lock);
			callback c = callbacks[i / MOST];
			BOOL call = c.target && c.life == now.life && !now.result && (c.kind == LISTENER || c.at == i % MOST) && concerns(&c, was, is);
			if (call) IUnknown_AddRef(c.target);
			LeaveCriticalSection(&lock);
			if (!call) continue;
			tell(&c, was, is);
			IUnknown_Release(c.target);
		}
	}
}

static BOOL CALLBACK begin(INIT_ONCE *unused, void *parameter, void **context) {
	WCHAR path[MAX_PATH], name[32];
	InitializeCriticalSection(&lock);
	GetModuleFileNameW(self, path, MAX_PATH);
	lstrcatW(path, L".state");
	HANDLE file = CreateFileW(path, GENERIC_READ | GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE, NULL, OPEN_ALWAYS, 0, NULL);
	HANDLE section = CreateFileMappingW(file, NULL, PAGE_READWRITE, 0, sizeof *shared, NULL);
	shared = MapViewOfFile(section, FILE_MAP_ALL_ACCESS, 0, 0, sizeof *shared);
	if (!shared) return FALSE;
	for (LONG n = 0; n < MOST; n++) {
		event_name(name, n);
		changed = CreateEventW(NULL, FALSE, FALSE, name);
		if (GetLastError() != ERROR_ALREADY_EXISTS) {
			if (shared->programs <= n) shared->programs = n + 1;
			break;
		}
		CloseHandle(changed);
	}
	copy(&before);
	return CreateThread(NULL, 0, follow, NULL, 0, NULL) != NULL;
}

static BOOL started(void) { return InitOnceExecuteOnce(&once, begin, NULL, NULL); }

static HRESULT keep(int kind, const object *o, IUnknown *target) {
	HRESULT result = E_OUTOFMEMORY;
	IUnknown_AddRef(target);
	EnterCriticalSection(&lock);
	for (int i = 0; i < KEPT && result; i++)
		if (!callbacks[i].target) {
			callbacks[i] = (callback){target, kind, o->at, o->life};
			result = S_OK;
		}
	LeaveCriticalSection(&lock);
	return result;
}

static HRESULT forget(int kind, const object *o, IUnknown *target) {
	HRESULT result = E_INVALIDARG;
	EnterCriticalSection(&lock);
	for (int i = 0; i < KEPT && result; i++) {
		callback *c = &callbacks[i];
		if (c->target == target && c->kind == kind && (kind == LISTENER || c->at == o->at)) {
			c->target = NULL;
			result = S_OK;
		}
	}
	LeaveCriticalSection(&lock);
	if (!result) IUnknown_Release(target);
	return result;
}

static object *make(const void *const *methods, int at) {
	object *o = calloc(1, sizeof *o);
	o->methods = methods;
	o->refs = 1;
	o->life = shared->life;
	o->at = at;
	o->plugged = shared->all[at].plugged;
	return o;
}

// alive is what a call comes to, before it does anything.
static HRESULT alive(const object *o) { return shared->result ? shared->result : o->life != shared->life ? RPC_E_DISCONNECTED : S_OK; }

// there is so for an object of an endpoint.
static HRESULT there(const object *o) {
	const endpoint *e = &shared->all[o->at];
	HRESULT result = alive(o);
	return result ? result : !e->state || e->plugged != o->plugged ? AUDCLNT_E_DEVICE_INVALIDATED : S_OK;
}

static WCHAR *text(const WCHAR *prefix, const WCHAR *value) {
	WCHAR *to = CoTaskMemAlloc((lstrlenW(prefix) + lstrlenW(value) + 1) * sizeof *to);
	lstrcpyW(to, prefix);
	return lstrcatW(to, value);
}

static const void *const device_methods[], *const flow_methods[];

static ULONG STDMETHODCALLTYPE retain(object *o) { return InterlockedIncrement(&o->refs); }

static ULONG STDMETHODCALLTYPE release(object *o) {
	LONG left = InterlockedDecrement(&o->refs);
	if (!left) free(o);
	return left;
}

// query takes an object for whatever else is asked for: callers know what they have.
static HRESULT STDMETHODCALLTYPE query(object *o, const GUID *iface, object **out) {
	*out = o;
	if (o->methods == device_methods && IsEqualGUID(iface, &iid_flow)) *out = make(flow_methods, o->at);
	else retain(o);
	return S_OK;
}

static HRESULT unused(void) { return E_NOTIMPL; }
static HRESULT fine(void) { return S_OK; }

static HRESULT STDMETHODCALLTYPE effects_register(object *o, IUnknown *c) { return keep(EFFECTS, o, c); }
static HRESULT STDMETHODCALLTYPE effects_unregister(object *o, IUnknown *c) { return forget(EFFECTS, o, c); }

static HRESULT STDMETHODCALLTYPE effects_get(object *o, effect **list, UINT32 *count) {
	const endpoint *e = &shared->all[o->at];
	*list = CoTaskMemAlloc(sizeof e->effect);
	memcpy(*list, e->effect, sizeof e->effect);
	*count = e->effects;
	return there(o);
}

static const void *const effects_methods[] = {query, retain, release, effects_register, effects_unregister, effects_get, unused};

static HRESULT STDMETHODCALLTYPE stream_format(object *o, WAVEFORMATEX **format) {
	static const WAVEFORMATEX mono = {WAVE_FORMAT_PCM, 1, 48000, 96000, 2, 16, 0};
	*format = CoTaskMemAlloc(sizeof mono);
	**format = mono;
	return there(o);
}

static HRESULT STDMETHODCALLTYPE stream_service(object *o, const GUID *iface, object **out) {
	*out = NULL;
	if (!shared->all[o->at].effects || !IsEqualGUID(iface, &iid_effects)) return E_NOINTERFACE;
	*out = make(effects_methods, o->at);
	return there(o);
}

static const void *const stream_methods[] = {query, retain, release, fine /* Initialize */, unused, unused, unused, unused, stream_format,
	unused, unused, unused, unused, unused, stream_service, unused, fine /* SetClientProperties */, unused};

static HRESULT STDMETHODCALLTYPE connector_other(object *o, WCHAR **id) {
	*id = text(L"{2}.adapter of ", shared->all[o->at].id);
	return there(o);
}

static const void *const connector_methods[] = {query, retain, release, unused, unused, unused, unused, unused, unused, unused,
	connector_other};

static HRESULT STDMETHODCALLTYPE topology_connector(object *o, UINT n, object **out) {
	*out = make(connector_methods, o->at);
	return there(o);
}

static const void *const topology_methods[] = {query, retain, release, unused, topology_connector};

static HRESULT STDMETHODCALLTYPE volume_register(object *o, IUnknown *c) {
	HRESULT result = there(o);
	return result ? result : keep(VOLUME, o, c);
}

static HRESULT STDMETHODCALLTYPE volume_unregister(object *o, IUnknown *c) { return forget(VOLUME, o, c); }

static HRESULT STDMETHODCALLTYPE volume_set_mute(object *o, BOOL mute, const GUID *context) {
	HRESULT result = there(o);
	if (result || InterlockedExchange(&shared->all[o->at].mute, mute) == mute) return result ? result : S_FALSE;
	wake();
	return S_OK;
}

static HRESULT STDMETHODCALLTYPE volume_mute(object *o, BOOL *mute) {
	*mute = shared->all[o->at].mute;
	return there(o);
}

static HRESULT STDMETHODCALLTYPE volume_support(object *o, DWORD *support) {
	*support = shared->all[o->at].support;
	return there(o);
}

static const void *const volume_methods[] = {query, retain, release, volume_register, volume_unregister, unused, unused, unused, unused,
	unused, unused, unused, unused, unused, volume_set_mute, volume_mute, unused, unused, unused, volume_support, unused};

static HRESULT STDMETHODCALLTYPE store_value(object *o, const PROPERTYKEY *key, PROPVARIANT *value) {
	const endpoint *e = &shared->all[o->at];
	HRESULT result = there(o);
	PropVariantInit(value);
	if (result) return result;
	if (o->adapter ? !memcmp(key, &key_instance, sizeof *key) : !memcmp(key, &key_name, sizeof *key)) {
		value->vt = VT_LPWSTR;
		value->pwszVal = text(L"", o->adapter ? e->adapter : e->name);
	} else if (!memcmp(key, &key_form, sizeof *key)) {
		value->vt = VT_UI4;
		value->ulVal = e->form;
	} else if (!memcmp(key, &key_container, sizeof *key)) {
		value->vt = VT_CLSID;
		value->puuid = CoTaskMemAlloc(sizeof *value->puuid);
		*value->puuid = e->container;
	}
	return S_OK;
}

static const void *const store_methods[] = {query, retain, release, unused, unused, store_value, unused, unused};

static HRESULT STDMETHODCALLTYPE flow_get(object *o, EDataFlow *flow) {
	*flow = shared->all[o->at].id[5] - '0';
	return alive(o);
}

static const void *const flow_methods[] = {query, retain, release, flow_get};

static HRESULT STDMETHODCALLTYPE device_activate(object *o, const GUID *iface, DWORD context, PROPVARIANT *parameters, object **out) {
	HRESULT result = there(o);
	const void *const *methods = IsEqualGUID(iface, &iid_volume) ? volume_methods
		: IsEqualGUID(iface, &iid_topology)                      ? topology_methods
		: IsEqualGUID(iface, &iid_stream)                        ? stream_methods
																 : NULL;
	*out = NULL;
	if (result || !methods) return result ? result : E_NOINTERFACE;
	*out = make(methods, o->at);
	return S_OK;
}

static HRESULT STDMETHODCALLTYPE device_properties(object *o, DWORD access, object **out) {
	HRESULT result = alive(o);
	*out = NULL;
	if (result) return result;
	*out = make(store_methods, o->at);
	(*out)->adapter = o->adapter;
	return S_OK;
}

static HRESULT STDMETHODCALLTYPE device_id(object *o, WCHAR **id) {
	*id = text(L"", shared->all[o->at].id);
	return alive(o);
}

static HRESULT STDMETHODCALLTYPE device_state(object *o, DWORD *now) {
	HRESULT result = there(o);
	*now = result ? DEVICE_STATE_NOTPRESENT : shared->all[o->at].state;
	return result == AUDCLNT_E_DEVICE_INVALIDATED ? S_OK : result;
}

static const void *const device_methods[] = {query, retain, release, device_activate, device_properties, device_id, device_state};

static HRESULT STDMETHODCALLTYPE collection_count(object *o, UINT *count) {
	*count = o->count;
	return alive(o);
}

static HRESULT STDMETHODCALLTYPE collection_item(object *o, UINT n, object **out) {
	*out = n < o->count ? make(device_methods, o->list[n]) : NULL;
	return *out ? alive(o) : E_INVALIDARG;
}

static const void *const collection_methods[] = {query, retain, release, collection_count, collection_item};

static HRESULT STDMETHODCALLTYPE enumerator_list(object *o, EDataFlow flow, DWORD states, object **out) {
	HRESULT result = alive(o);
	*out = NULL;
	if (result) return result;
	object *list = *out = make(collection_methods, 0);
	for (int i = 0; i < MOST; i++)
		if (shared->all[i].state & states && (flow == eAll || shared->all[i].id[5] - '0' == flow)) list->list[list->count++] = i;
	return S_OK;
}

static HRESULT STDMETHODCALLTYPE enumerator_default(object *o, EDataFlow flow, ERole role, object **out) {
	HRESULT result = alive(o);
	*out = NULL;
	for (int i = 0; i < MOST && !result && !*out; i++)
		if (shared->all[i].state && shared->all[i].chosen && shared->all[i].id[5] - '0' == flow) *out = make(device_methods, i);
	return result ? result : *out ? S_OK : HRESULT_FROM_WIN32(ERROR_NOT_FOUND);
}

static HRESULT STDMETHODCALLTYPE enumerator_device(object *o, const WCHAR *id, object **out) {
	HRESULT result = alive(o);
	*out = NULL;
	for (int i = 0; i < MOST && !result && !*out; i++) {
		WCHAR *adapter = text(L"{2}.adapter of ", shared->all[i].id);
		if (shared->all[i].state && (!lstrcmpW(id, shared->all[i].id) || !lstrcmpW(id, adapter))) {
			*out = make(device_methods, i);
			(*out)->adapter = !lstrcmpW(id, adapter);
		}
		CoTaskMemFree(adapter);
	}
	return result ? result : *out ? S_OK : HRESULT_FROM_WIN32(ERROR_NOT_FOUND);
}

static HRESULT STDMETHODCALLTYPE enumerator_register(object *o, IUnknown *c) {
	HRESULT result = alive(o);
	return result ? result : keep(LISTENER, o, c);
}

static HRESULT STDMETHODCALLTYPE enumerator_unregister(object *o, IUnknown *c) { return forget(LISTENER, o, c); }

static const void *const enumerator_methods[] = {query, retain, release, enumerator_list, enumerator_default, enumerator_device,
	enumerator_register, enumerator_unregister};

static HRESULT STDMETHODCALLTYPE factory_create(object *o, IUnknown *outer, const GUID *iface, object **out) {
	*out = NULL;
	if (shared->result) return shared->result;
	*out = make(enumerator_methods, 0);
	return S_OK;
}

static const void *const factory_methods[] = {query, retain, release, factory_create, fine /* LockServer */};

__declspec(dllexport) HRESULT WINAPI DllGetClassObject(const GUID *class, const GUID *iface, void **out) {
	*out = NULL;
	if (!started()) return E_FAIL;
	*out = make(factory_methods, 0);
	return S_OK;
}

__declspec(dllexport) HRESULT WINAPI DllCanUnloadNow(void) { return S_FALSE; }

// Change has an endpoint come, go or be another, by its id, and returns whether there was room.
__declspec(dllexport) BOOL WINAPI Change(const endpoint *to) {
	int at = 0;
	if (!started()) return FALSE;
	while (at < MOST && shared->all[at].id[0] && lstrcmpW(shared->all[at].id, to->id)) at++;
	if (at == MOST) return FALSE;
	endpoint *e = &shared->all[at];
	DWORD plugged = e->plugged + (to->state && !e->state);
	InterlockedIncrement(&shared->writing);
	*e = *to;
	e->plugged = plugged;
	InterlockedIncrement(&shared->writing);
	wake();
	return TRUE;
}

// Serve has all calls come to a result, S_OK for what they do. anew: the service is another from now on; no object of before works, and
// nobody is told.
__declspec(dllexport) BOOL WINAPI Serve(HRESULT result, BOOL anew) {
	if (!started()) return FALSE;
	InterlockedExchange(&shared->result, result);
	if (anew) InterlockedIncrement(&shared->life);
	return TRUE;
}

BOOL WINAPI DllMain(HMODULE module, DWORD reason, void *reserved) {
	if (reason == DLL_PROCESS_ATTACH) {
		self = module;
		DisableThreadLibraryCalls(module);
	}
	return TRUE;
}
