// camera.c is a driver of make-believe cameras, for tests under Wine: each has the interface by which Windows knows cameras, and nothing
// behind it. It never ships.
#include <ntddk.h>

static const GUID video_camera = {0xE5323777, 0xF976, 0x4F5B, {0x9B, 0x55, 0xB9, 0x46, 0x99, 0xC4, 0x6E, 0x44}};

typedef struct {
	PDEVICE_OBJECT below;
	UNICODE_STRING link;
} camera;

static NTSTATUS complete(IRP *irp, NTSTATUS status) {
	irp->IoStatus.Status = status;
	IoCompleteRequest(irp, IO_NO_INCREMENT);
	return status;
}

static void show(camera *c, BOOLEAN there) {
	if (c->link.Buffer) IoSetDeviceInterfaceState(&c->link, there);
}

static NTSTATUS NTAPI plug_and_play(DEVICE_OBJECT *object, IRP *irp) {
	UCHAR what = IoGetCurrentIrpStackLocation(irp)->MinorFunction;
	camera *c = object->DeviceExtension;
	PDEVICE_OBJECT below = c->below;
	NTSTATUS status;
	if (what == IRP_MN_START_DEVICE) show(c, TRUE);
	if (what == IRP_MN_REMOVE_DEVICE || what == IRP_MN_SURPRISE_REMOVAL) {
		show(c, FALSE);
		c->link.Buffer = NULL;
	}
	if (what == IRP_MN_START_DEVICE || what == IRP_MN_REMOVE_DEVICE || what == IRP_MN_SURPRISE_REMOVAL) irp->IoStatus.Status = STATUS_SUCCESS;
	IoSkipCurrentIrpStackLocation(irp);
	status = IoCallDriver(below, irp);
	if (what == IRP_MN_REMOVE_DEVICE) {
		IoDetachDevice(below);
		IoDeleteDevice(object);
	}
	return status;
}

static NTSTATUS NTAPI succeed(DEVICE_OBJECT *object, IRP *irp) { return complete(irp, STATUS_SUCCESS); }

static NTSTATUS NTAPI add(DRIVER_OBJECT *driver, DEVICE_OBJECT *device) {
	PDEVICE_OBJECT object;
	camera *c;
	NTSTATUS status = IoCreateDevice(driver, sizeof(camera), NULL, FILE_DEVICE_UNKNOWN, 0, FALSE, &object);
	if (status) return status;
	c = object->DeviceExtension;
	c->link.Buffer = NULL;
	c->below = IoAttachDeviceToDeviceStack(object, device);
	status = IoRegisterDeviceInterface(device, &video_camera, NULL, &c->link);
	object->Flags &= ~DO_DEVICE_INITIALIZING;
	return status;
}

static void NTAPI unload(DRIVER_OBJECT *driver) {}

NTSTATUS NTAPI DriverEntry(DRIVER_OBJECT *driver, UNICODE_STRING *path) {
	driver->DriverExtension->AddDevice = (void *)add;
	driver->DriverUnload = unload;
	driver->MajorFunction[IRP_MJ_CREATE] = driver->MajorFunction[IRP_MJ_CLOSE] = driver->MajorFunction[IRP_MJ_POWER] = succeed;
	driver->MajorFunction[IRP_MJ_PNP] = plug_and_play;
	return STATUS_SUCCESS;
}
