// hid.c is a driver of make-believe HID devices, for tests under Wine: a minidriver of hidclass.sys that a test tells what its device
// declares and sends. It never ships.
//
// What a device is it reads from the registry when the device is plugged in, below Parameters of the driver's service: Descriptor
// (the report descriptor), VID, PID and Product. What it does is said by feature reports:
//
//	set 0x70: the next byte is how many of those after it the device sends as an input report
//	set 0x05: the next byte is what the feature report 0x05 and the input report 0x01 then answer
//	get 0x06: has no answer, until the question is withdrawn or the device is unplugged
//	get 0x07: the last output report, without its number
#include <ntddk.h>
#include <hidusage.h>
#include <hidclass.h>

#define IOCTL_INTERNAL(n) CTL_CODE(FILE_DEVICE_KEYBOARD, n, METHOD_NEITHER, FILE_ANY_ACCESS)
#define GET_DEVICE_DESCRIPTOR IOCTL_INTERNAL(0)
#define GET_REPORT_DESCRIPTOR IOCTL_INTERNAL(1)
#define READ_REPORT IOCTL_INTERNAL(2)
#define WRITE_REPORT IOCTL_INTERNAL(3)
#define GET_STRING IOCTL_INTERNAL(4)
#define GET_DEVICE_ATTRIBUTES IOCTL_INTERNAL(9)

#define SEND 0x70
#define STATE 0x05
#define SILENT 0x06
#define LAST_OUTPUT 0x07

// These are of hidport.h, which mingw lacks.
typedef struct {
	ULONG Revision;
	PDRIVER_OBJECT DriverObject;
	PUNICODE_STRING RegistryPath;
	ULONG DeviceExtensionSize;
	BOOLEAN DevicesArePolled;
	UCHAR Reserved[3];
} HID_MINIDRIVER_REGISTRATION;
typedef struct {
	PDEVICE_OBJECT PhysicalDeviceObject, NextDeviceObject;
	PVOID MiniDeviceExtension;
} HID_DEVICE_EXTENSION;
typedef struct {
	ULONG Size;
	USHORT VendorID, ProductID, VersionNumber, Reserved[11];
} HID_DEVICE_ATTRIBUTES;
#pragma pack(push, 1)
typedef struct {
	UCHAR bLength, bDescriptorType;
	USHORT bcdHID;
	UCHAR bCountry, bNumDescriptors, bReportType;
	USHORT wReportLength;
} HID_DESCRIPTOR;
#pragma pack(pop)
NTSTATUS NTAPI HidRegisterMinidriver(HID_MINIDRIVER_REGISTRATION *);

// There is no C library below a driver.
void *memset(void *to, int c, size_t n) {
	for (size_t i = 0; i < n; i++) ((volatile UCHAR *)to)[i] = c;
	return to;
}
void *memcpy(void *to, const void *from, size_t n) {
	for (size_t i = 0; i < n; i++) ((volatile UCHAR *)to)[i] = ((const UCHAR *)from)[i];
	return to;
}

#define QUEUE 256
typedef struct {
	UCHAR length, bytes[63];
} report;
typedef struct {
	KSPIN_LOCK lock;
	IRP *reading, *silent; // that wait
	report queue[QUEUE];
	ULONG first, count;
	UCHAR state, output[64];
	ULONG output_length;
} device;

static UNICODE_STRING parameters;
static WCHAR parameters_path[512];

static NTSTATUS complete(IRP *irp, NTSTATUS status, ULONG_PTR length) {
	irp->IoStatus.Status = status;
	irp->IoStatus.Information = length;
	IoCompleteRequest(irp, IO_NO_INCREMENT);
	return status;
}

// setting reads a value into out and returns its length, 0 if there is none.
static ULONG setting(const WCHAR *name, void *out, ULONG size) {
	static UCHAR buffer[8192];
	KEY_VALUE_PARTIAL_INFORMATION *value = (void *)buffer;
	OBJECT_ATTRIBUTES attributes;
	UNICODE_STRING text;
	ULONG length = 0;
	HANDLE key;
	InitializeObjectAttributes(&attributes, &parameters, OBJ_CASE_INSENSITIVE, NULL, NULL);
	if (ZwOpenKey(&key, KEY_READ, &attributes)) return 0;
	RtlInitUnicodeString(&text, name);
	if (ZwQueryValueKey(key, &text, KeyValuePartialInformation, buffer, sizeof(buffer), &length)) length = 0;
	else length = value->DataLength < size ? value->DataLength : size;
	memcpy(out, value->Data, length);
	ZwClose(key);
	return length;
}

// take takes a waiting request out of *place, unless it is being withdrawn.
static IRP *take(IRP **place) {
	IRP *irp = *place;
	*place = NULL;
	if (irp && !IoSetCancelRoutine(irp, NULL)) irp = NULL;
	return irp;
}

// answer hands a report over, as far as there is room for it.
static void answer(IRP *irp, const report *r) {
	ULONG room = IoGetCurrentIrpStackLocation(irp)->Parameters.DeviceIoControl.OutputBufferLength;
	ULONG length = r->length < room ? r->length : room;
	memcpy(irp->UserBuffer, r->bytes, length);
	complete(irp, STATUS_SUCCESS, length);
}

static void send(device *d, const UCHAR *bytes, UCHAR length) {
	report r;
	KIRQL irql;
	IRP *irp;
	r.length = length < sizeof(r.bytes) ? length : sizeof(r.bytes);
	memcpy(r.bytes, bytes, r.length);
	KeAcquireSpinLock(&d->lock, &irql);
	irp = take(&d->reading);
	if (!irp && d->count < QUEUE) d->queue[(d->first + d->count++) % QUEUE] = r;
	KeReleaseSpinLock(&d->lock, irql);
	if (irp) answer(irp, &r);
}

static device *device_of(DEVICE_OBJECT *object) { return ((HID_DEVICE_EXTENSION *)object->DeviceExtension)->MiniDeviceExtension; }

static void NTAPI withdraw(DEVICE_OBJECT *object, IRP *irp) {
	device *d = device_of(object);
	KIRQL irql;
	IoReleaseCancelSpinLock(irp->CancelIrql);
	KeAcquireSpinLock(&d->lock, &irql);
	if (d->reading == irp) d->reading = NULL;
	if (d->silent == irp) d->silent = NULL;
	KeReleaseSpinLock(&d->lock, irql);
	complete(irp, STATUS_CANCELLED, 0);
}

static NTSTATUS wait(IRP *irp, IRP **place) {
	IoMarkIrpPending(irp);
	IoSetCancelRoutine(irp, withdraw);
	*place = irp;
	return STATUS_PENDING;
}

static NTSTATUS read(device *d, IRP *irp) {
	NTSTATUS status = STATUS_SUCCESS;
	report r;
	KIRQL irql;
	KeAcquireSpinLock(&d->lock, &irql);
	if (d->count) {
		r = d->queue[d->first];
		d->first = (d->first + 1) % QUEUE;
		d->count--;
	} else status = wait(irp, &d->reading);
	KeReleaseSpinLock(&d->lock, irql);
	if (status == STATUS_SUCCESS) answer(irp, &r);
	return status;
}

static NTSTATUS get_feature(device *d, IRP *irp, HID_XFER_PACKET *packet) {
	KIRQL irql;
	switch (packet->reportId) {
	case STATE:
		packet->reportBuffer[1] = d->state;
		packet->reportBufferLen = 2;
		break;
	case LAST_OUTPUT:
		memcpy(packet->reportBuffer + 1, d->output, d->output_length);
		packet->reportBufferLen = 1 + d->output_length;
		break;
	case SILENT:
		KeAcquireSpinLock(&d->lock, &irql);
		wait(irp, &d->silent);
		KeReleaseSpinLock(&d->lock, irql);
		return STATUS_PENDING;
	default:
		return complete(irp, STATUS_INVALID_PARAMETER, 0);
	}
	return complete(irp, STATUS_SUCCESS, packet->reportBufferLen);
}

static NTSTATUS NTAPI internal(DEVICE_OBJECT *object, IRP *irp) {
	IO_STACK_LOCATION *stack = IoGetCurrentIrpStackLocation(irp);
	HID_XFER_PACKET *packet = irp->UserBuffer;
	device *d = device_of(object);
	ULONG size = stack->Parameters.DeviceIoControl.OutputBufferLength, value;
	static UCHAR descriptor[4096];
	HID_DEVICE_ATTRIBUTES *attributes = irp->UserBuffer;
	HID_DESCRIPTOR *described = irp->UserBuffer;

	switch (stack->Parameters.DeviceIoControl.IoControlCode) {
	case GET_DEVICE_DESCRIPTOR:
		memset(described, 0, sizeof(*described));
		described->bLength = sizeof(*described);
		described->bDescriptorType = 0x21;
		described->bcdHID = 0x111;
		described->bNumDescriptors = 1;
		described->bReportType = 0x22;
		described->wReportLength = setting(L"Descriptor", descriptor, sizeof(descriptor));
		return complete(irp, STATUS_SUCCESS, sizeof(*described));
	case GET_REPORT_DESCRIPTOR:
		return complete(irp, STATUS_SUCCESS, setting(L"Descriptor", irp->UserBuffer, size));
	case GET_DEVICE_ATTRIBUTES:
		memset(attributes, 0, sizeof(*attributes));
		attributes->Size = sizeof(*attributes);
		if (setting(L"VID", &value, sizeof(value))) attributes->VendorID = value;
		if (setting(L"PID", &value, sizeof(value))) attributes->ProductID = value;
		return complete(irp, STATUS_SUCCESS, sizeof(*attributes));
	case GET_STRING:
		return complete(irp, STATUS_SUCCESS, setting(L"Product", irp->UserBuffer, size));
	case READ_REPORT:
		return read(d, irp);
	case WRITE_REPORT:
		d->output_length = packet->reportBufferLen - 1 < sizeof(d->output) ? packet->reportBufferLen - 1 : sizeof(d->output);
		memcpy(d->output, packet->reportBuffer + 1, d->output_length);
		return complete(irp, STATUS_SUCCESS, packet->reportBufferLen);
	case IOCTL_HID_GET_INPUT_REPORT:
		packet->reportBuffer[0] = packet->reportId;
		packet->reportBuffer[1] = d->state;
		packet->reportBufferLen = 2;
		return complete(irp, STATUS_SUCCESS, 2);
	case IOCTL_HID_GET_FEATURE:
		return get_feature(d, irp, packet);
	case IOCTL_HID_SET_FEATURE:
		if (packet->reportId == SEND && packet->reportBufferLen > 2) send(d, packet->reportBuffer + 2, packet->reportBuffer[1]);
		if (packet->reportId == STATE && packet->reportBufferLen > 1) d->state = packet->reportBuffer[1];
		return complete(irp, STATUS_SUCCESS, packet->reportBufferLen);
	}
	return complete(irp, STATUS_NOT_SUPPORTED, 0);
}

static NTSTATUS NTAPI plug_and_play(DEVICE_OBJECT *object, IRP *irp) {
	UCHAR what = IoGetCurrentIrpStackLocation(irp)->MinorFunction;
	HID_DEVICE_EXTENSION *extension = object->DeviceExtension;
	device *d = device_of(object);
	if (what == IRP_MN_REMOVE_DEVICE || what == IRP_MN_SURPRISE_REMOVAL) {
		IRP *waiting[2];
		KIRQL irql;
		KeAcquireSpinLock(&d->lock, &irql);
		waiting[0] = take(&d->reading);
		waiting[1] = take(&d->silent);
		KeReleaseSpinLock(&d->lock, irql);
		for (int i = 0; i < 2; i++)
			if (waiting[i]) complete(waiting[i], STATUS_DELETE_PENDING, 0);
	}
	if (what <= IRP_MN_CANCEL_STOP_DEVICE || what == IRP_MN_SURPRISE_REMOVAL) irp->IoStatus.Status = STATUS_SUCCESS;
	IoSkipCurrentIrpStackLocation(irp);
	return IoCallDriver(extension->NextDeviceObject, irp);
}

static NTSTATUS NTAPI succeed(DEVICE_OBJECT *object, IRP *irp) { return complete(irp, STATUS_SUCCESS, 0); }

static NTSTATUS NTAPI add(DRIVER_OBJECT *driver, DEVICE_OBJECT *object) {
	device *d = device_of(object);
	memset(d, 0, sizeof(*d));
	KeInitializeSpinLock(&d->lock);
	object->Flags &= ~DO_DEVICE_INITIALIZING;
	return STATUS_SUCCESS;
}

static void NTAPI unload(DRIVER_OBJECT *driver) {}

NTSTATUS NTAPI DriverEntry(DRIVER_OBJECT *driver, UNICODE_STRING *path) {
	HID_MINIDRIVER_REGISTRATION registration;
	parameters.Buffer = parameters_path;
	parameters.MaximumLength = sizeof(parameters_path);
	RtlCopyUnicodeString(&parameters, path);
	RtlAppendUnicodeToString(&parameters, L"\\Parameters");
	driver->DriverExtension->AddDevice = (void *)add;
	driver->DriverUnload = unload;
	driver->MajorFunction[IRP_MJ_CREATE] = driver->MajorFunction[IRP_MJ_CLOSE] = driver->MajorFunction[IRP_MJ_POWER] = succeed;
	driver->MajorFunction[IRP_MJ_PNP] = plug_and_play;
	driver->MajorFunction[IRP_MJ_INTERNAL_DEVICE_CONTROL] = internal;
	memset(&registration, 0, sizeof(registration));
	registration.Revision = 1;
	registration.DriverObject = driver;
	registration.RegistryPath = path;
	registration.DeviceExtensionSize = sizeof(device);
	return HidRegisterMinidriver(&registration);
}
