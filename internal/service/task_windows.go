package service

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/windows"

	"sidetone/internal/platform/windows/com"
)

// What the Task Scheduler calls its service, and the places of methods (taskschd.h).
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

	slotEnabled = 10 // of a task
	slotXML     = 20

	createOrUpdate   = 6
	interactiveToken = 3
	group            = 4
)

var (
	sysAllocString = windows.NewLazySystemDLL("oleaut32.dll").NewProc("SysAllocString")
	sysFreeString  = windows.NewLazySystemDLL("oleaut32.dll").NewProc("SysFreeString")
)

// variant is one that holds nothing. It goes by its address.
type variant [3]uint64

// errNoTask is what the Task Scheduler says of a name that it does not know.
const errNoTask = com.HRESULT(0x80070002)

// inTasks calls do with the folder of all tasks.
func inTasks(what, name string, do func(folder *com.Object) error) error {
	leave, err := com.Enter()
	if err == nil {
		defer leave()
		err = withFolder(do)
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

// Tests replace these: Wine leaves out of a definition what it does not know.
var (
	readTask  = definitionOf
	writeTask = register
)

// definitionOf is the definition of a task; "": there is none.
func definitionOf(name string) (text string, enabled bool, err error) {
	err = inTasks("read", name, func(folder *com.Object) error {
		path, free := bstr(name)
		defer free()
		task, err := folder.Object(slotGetTask, path)
		if errors.Is(err, errNoTask) {
			return nil
		}
		if err != nil {
			return err
		}
		defer task.Release()
		on := new(int16)
		if err := task.Call(slotEnabled, uintptr(unsafe.Pointer(on))); err != nil {
			return err
		}
		enabled = *on != 0
		said := new(*uint16)
		err = task.Call(slotXML, uintptr(unsafe.Pointer(said)))
		if *said != nil {
			text = windows.UTF16PtrToString(*said)
			_, _, _ = sysFreeString.Call(uintptr(unsafe.Pointer(*said)))
		}
		return err
	})
	return text, enabled, err
}

// register registers a task, or changes it. Only an administrator may do so for all.
func register(name, text string, forAll bool) error {
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
		task, err := folder.Object(slotRegisterTask, path, definition, createOrUpdate, uintptr(unsafe.Pointer(none)),
			uintptr(unsafe.Pointer(none)), logon, uintptr(unsafe.Pointer(none)))
		task.Release()
		return err
	})
}

func removeTask(name string) error {
	return inTasks("remove", name, func(folder *com.Object) error {
		path, free := bstr(name)
		defer free()
		if err := folder.Call(slotDeleteTask, path, 0); !errors.Is(err, errNoTask) {
			return err
		}
		return nil
	})
}

// bstr is a text as automation wants it.
func bstr(text string) (argument uintptr, free func()) {
	text16, err := windows.UTF16PtrFromString(text)
	if err != nil {
		return 0, func() {} // check has refused control characters
	}
	argument, _, _ = sysAllocString.Call(uintptr(unsafe.Pointer(text16)))
	return argument, func() { _, _, _ = sysFreeString.Call(argument) }
}
