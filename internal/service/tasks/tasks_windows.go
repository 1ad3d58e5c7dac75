package tasks

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/windows"

	"sidetone/internal/platform/windows/com"
)

// Class and interface of the Task Scheduler's service, and the slots of methods (taskschd.h).
var (
	classTaskScheduler = com.MustGUID("0F87369F-A4E5-4CFC-BD3E-73E6154572DD")
	ifaceTaskService   = com.MustGUID("2FABA4C7-4DA9-4013-9697-20CC3FD40F85")
)

const (
	slotGetFolder = 7 // of the service
	slotConnect   = 10

	slotGetTask      = 13 // of a folder
	slotDeleteTask   = 15
	slotRegisterTask = 16

	slotEnabled  = 10 // of a task
	slotXML      = 20
	slotSecurity = 21

	create           = 2
	createOrUpdate   = 6
	interactiveToken = 3
	group            = 4
)

var (
	sysAllocString = windows.NewLazySystemDLL("oleaut32.dll").NewProc("SysAllocString")
	sysFreeString  = windows.NewLazySystemDLL("oleaut32.dll").NewProc("SysFreeString")
)

// variant is an empty VARIANT, which is passed by address.
type variant [3]uint64

// Results of the Task Scheduler for an unknown name, and for a task of another user.
const (
	errNoTask = com.HRESULT(0x80070002)
	errDenied = com.HRESULT(0x80070005)
)

// inTasks calls do with the root folder of all tasks.
func inTasks(what, name string, do func(folder *com.Object) error) error {
	leave, err := com.Enter()
	if err == nil {
		defer leave()
		err = withFolder(do)
	}
	if errors.Is(err, errDenied) {
		err = fmt.Errorf("%w: another user has made it, or it takes an administrator, who can remove it in the Task Scheduler", err)
	}
	if err != nil {
		return fmt.Errorf("%s the task %s: %w", what, name, err)
	}
	return nil
}

func withFolder(do func(folder *com.Object) error) error {
	scheduler, err := com.Create(classTaskScheduler, ifaceTaskService)
	if err != nil {
		return err
	}
	defer scheduler.Release()
	none := new(variant)
	if err := scheduler.Call(slotConnect, uintptr(unsafe.Pointer(none)), uintptr(unsafe.Pointer(none)),
		uintptr(unsafe.Pointer(none)), uintptr(unsafe.Pointer(none))); err != nil {
		return err
	}
	root, free := bstr(`\`)
	defer free()
	folder, err := scheduler.Object(slotGetFolder, root)
	if err != nil {
		return err
	}
	defer folder.Release()
	return do(folder)
}

// Stored is a registered task.
type Stored struct {
	Text    string // its definition; "": there is none, or none that this user may read
	Enabled bool
	Owner   string // SID; "": not known
}

// Read reads a task. One that this user may not read belongs to somebody else, whatever its name, and counts as absent.
func Read(name string) (t Stored, err error) {
	err = inTasks("read", name, func(folder *com.Object) error {
		path, free := bstr(name)
		defer free()
		task, err := folder.Object(slotGetTask, path)
		if errors.Is(err, errNoTask) || errors.Is(err, errDenied) {
			return nil
		}
		if err != nil {
			return err
		}
		defer task.Release()
		t.Owner = ownerOf(task)
		on := new(int16)
		if err := task.Call(slotEnabled, uintptr(unsafe.Pointer(on))); err != nil {
			return err
		}
		t.Enabled = *on != 0
		t.Text, err = textOf(task, slotXML)
		return err
	})
	return t, err
}

// textOf calls a method whose last argument receives a text.
func textOf(task *com.Object, slot int, args ...uintptr) (text string, err error) {
	said := new(*uint16)
	err = task.Call(slot, append(args, uintptr(unsafe.Pointer(said)))...)
	if *said != nil {
		text = windows.UTF16PtrToString(*said)
		_, _, _ = sysFreeString.Call(uintptr(unsafe.Pointer(*said)))
	}
	return text, err
}

// ownerOf returns the SID of a task's owner, who may change it, or "".
func ownerOf(task *com.Object) string {
	text, err := textOf(task, slotSecurity, windows.OWNER_SECURITY_INFORMATION)
	if err != nil {
		return ""
	}
	sd, err := windows.SecurityDescriptorFromString(text)
	if err != nil {
		return ""
	}
	owner, _, err := sd.Owner()
	if err != nil {
		return ""
	}
	return owner.String()
}

// Register registers a task, or changes it. A task for all users takes an administrator, and one that exists is removed first, since its
// creator could change it.
func Register(name, text string, forAll bool) error {
	how := uintptr(createOrUpdate)
	if forAll {
		how = create
		if err := Remove(name); err != nil {
			return err
		}
	}
	return inTasks("register", name, func(folder *com.Object) error {
		path, free := bstr(name)
		defer free()
		definition, freeText := bstr(text)
		defer freeText()
		logon := uintptr(interactiveToken)
		if forAll {
			logon = group
		}
		none := new(variant)
		task, err := folder.Object(slotRegisterTask, path, definition, how, uintptr(unsafe.Pointer(none)),
			uintptr(unsafe.Pointer(none)), logon, uintptr(unsafe.Pointer(none)))
		task.Release()
		return err
	})
}

// Remove removes a task. A missing one is no error.
func Remove(name string) error {
	return inTasks("remove", name, func(folder *com.Object) error {
		path, free := bstr(name)
		defer free()
		if err := folder.Call(slotDeleteTask, path, 0); !errors.Is(err, errNoTask) {
			return err
		}
		return nil
	})
}

// bstr converts a text to a BSTR.
func bstr(text string) (argument uintptr, free func()) {
	text16, err := windows.UTF16PtrFromString(text)
	if err != nil {
		return 0, func() {} // a zero byte, which no caller has
	}
	argument, _, _ = sysAllocString.Call(uintptr(unsafe.Pointer(text16)))
	return argument, func() { _, _, _ = sysFreeString.Call(argument) }
}
