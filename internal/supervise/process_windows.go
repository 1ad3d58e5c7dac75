package supervise

import (
	"crypto/rand"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf16"
	"unsafe"

	"golang.org/x/sys/windows"
)

// A Program is what is started for each user.
type Program struct {
	Path string // absolute
	Args []string
}

// process is an agent in a job of its own, which holds all that it starts.
type process struct {
	name string         // of the event stop
	main windows.Handle // Wait's alone

	mu        sync.Mutex
	pid       uint32         // of main
	job, stop windows.Handle // 0: it has ended
}

// start starts the program as the user of a token, in that user's session, or else as this process is. It inherits nothing, and begins in
// the system's folder, where nobody puts a DLL. With bound it is killed when this process ends, however that happens.
func (p Program) start(token windows.Token, bound bool, last int) (_ *process, err error) {
	name, sd, err := stopEvent(token)
	if err != nil {
		return nil, err
	}
	started := &process{name: name}
	defer func() {
		if err != nil {
			started.close()
		}
	}()
	name16, err := windows.UTF16PtrFromString(name)
	if err != nil {
		return nil, err
	}
	if started.stop, err = windows.CreateEvent(sd, 1, 0, name16); err != nil { // with a handle where somebody else has that name, too
		return nil, fmt.Errorf("make the event %s: %w", name, err)
	}
	if started.job, err = newJob(bound); err != nil {
		return nil, err
	}
	environment := os.Environ()
	if token != 0 {
		if environment, err = token.Environ(false); err != nil {
			return nil, fmt.Errorf("the environment of the user: %w", err)
		}
	}
	environment = slices.DeleteFunc(environment, func(variable string) bool { // of two, Windows would give the agent the first
		name, _, _ := strings.Cut(variable, "=")
		return strings.EqualFold(name, StopEventVariable) || strings.EqualFold(name, LastExitVariable)
	})
	info, err := p.create(token, append(environment, StopEventVariable+"="+name, LastExitVariable+"="+strconv.Itoa(last)))
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", p.Path, err)
	}
	defer windows.CloseHandle(info.Thread)
	started.main, started.pid = info.Process, info.ProcessId
	if err = windows.AssignProcessToJobObject(started.job, info.Process); err == nil {
		_, err = windows.ResumeThread(info.Thread)
	}
	if err != nil {
		_ = windows.TerminateProcess(info.Process, 1)
		return nil, fmt.Errorf("start %s: %w", p.Path, err)
	}
	return started, nil
}

// stopEvent is a name that nobody can have taken, and who may do what with the event: the user of a token may wait for it, no more.
func stopEvent(token windows.Token) (name string, _ *windows.SecurityAttributes, err error) {
	if token == 0 {
		return `Local\sidetone-stop-` + rand.Text(), nil, nil
	}
	user, err := token.GetTokenUser()
	if err != nil {
		return "", nil, fmt.Errorf("the user of a session: %w", err)
	}
	const synchronize = "0x00100000"
	sd, err := windows.SecurityDescriptorFromString("D:P(A;;GA;;;SY)(A;;" + synchronize + ";;;" + user.User.Sid.String() + ")")
	if err != nil {
		return "", nil, err
	}
	attributes := &windows.SecurityAttributes{SecurityDescriptor: sd}
	attributes.Length = uint32(unsafe.Sizeof(*attributes))
	return `Global\sidetone-stop-` + rand.Text(), attributes, nil
}

func newJob(bound bool) (windows.Handle, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err == nil && bound {
		limits := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{}
		var pins runtime.Pinner
		defer pins.Unpin()
		pins.Pin(&limits) // its address goes as a number, and a stack may move
		limits.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
		_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
			uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	}
	if err != nil {
		return job, fmt.Errorf("make a job: %w", err)
	}
	return job, nil
}

// create makes the process, suspended.
func (p Program) create(token windows.Token, environment []string) (*windows.ProcessInformation, error) {
	system, err := windows.GetSystemDirectory()
	if err != nil {
		return nil, err
	}
	var words []*uint16
	for _, text := range []string{p.Path, windows.ComposeCommandLine(append([]string{p.Path}, p.Args...)), system, `winsta0\default`} {
		word, err := windows.UTF16PtrFromString(text)
		if err != nil {
			return nil, err
		}
		words = append(words, word)
	}
	block := utf16.Encode([]rune(strings.Join(environment, "\x00") + "\x00\x00"))
	startup, info := &windows.StartupInfo{}, &windows.ProcessInformation{}
	startup.Cb = uint32(unsafe.Sizeof(*startup))
	flags := uint32(windows.CREATE_UNICODE_ENVIRONMENT | windows.CREATE_SUSPENDED | windows.CREATE_NO_WINDOW)
	if token == 0 {
		return info, windows.CreateProcess(words[0], words[1], nil, nil, false, flags, &block[0], words[2], startup, info)
	}
	startup.Desktop = words[3]
	return info, windows.CreateProcessAsUser(token, words[0], words[1], nil, nil, false, flags, &block[0], words[2], startup, info)
}

// Wait follows what goes on in place of the agent.
func (p *process) Wait() int {
	defer p.close()
	for {
		_, _ = windows.WaitForSingleObject(p.main, windows.INFINITE)
		var code uint32
		_ = windows.GetExitCodeProcess(p.main, &code)
		next, pid := windows.Handle(0), uint32(0)
		if code == ExitSucceeded {
			next, pid = p.successor()
		}
		if next == 0 {
			_ = windows.TerminateJobObject(p.job, 1) // what it has started, as its helper for sound, ends with it
			return int(code)
		}
		_ = windows.CloseHandle(p.main)
		p.main = next
		p.mu.Lock()
		p.pid = pid
		p.mu.Unlock()
	}
}

// successor is the agent in the job that the main process has started; 0: there is none. An agent starts one at a time.
func (p *process) successor() (next windows.Handle, pid uint32) {
	var list struct {
		assigned, listed uint32
		pids             [64]uintptr
	}
	size := uint32(unsafe.Sizeof(list))
	var pins runtime.Pinner
	defer pins.Unpin()
	pins.Pin(&list)
	err := windows.QueryInformationJobObject(p.job, windows.JobObjectBasicProcessIdList, uintptr(unsafe.Pointer(&list)), size, nil)
	if err != nil {
		return 0, 0
	}
	for _, id := range list.pids[:min(list.listed, uint32(len(list.pids)))] {
		alive := p.openAlive(uint32(id))
		if alive == 0 {
			continue
		}
		_ = windows.CloseHandle(alive)
		child, err := windows.OpenProcess(windows.SYNCHRONIZE|windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(id))
		if err != nil {
			continue
		}
		if parentOf(child) == p.pid {
			return child, uint32(id)
		}
		_ = windows.CloseHandle(child)
	}
	return 0, 0
}

// openAlive opens the event of a process that is an agent of this supervisor; 0: it is none.
func (p *process) openAlive(pid uint32) windows.Handle {
	name, err := windows.UTF16PtrFromString(AliveEvent(p.name, pid))
	if err != nil {
		return 0
	}
	event, err := windows.OpenEvent(windows.SYNCHRONIZE|windows.EVENT_MODIFY_STATE, false, name)
	if err != nil {
		return 0
	}
	return event
}

// Answers asks by the event.
func (p *process) Answers() bool {
	p.mu.Lock()
	alive := p.openAlive(p.pid)
	p.mu.Unlock()
	if alive == 0 {
		return true
	}
	defer windows.CloseHandle(alive)
	event, err := windows.WaitForSingleObject(alive, 0)
	_ = windows.SetEvent(alive)
	return err != nil || event != windows.WAIT_OBJECT_0
}

// parentOf is by whom a process was started. The id is nobody else's for as long as a handle to that one is open.
func parentOf(process windows.Handle) uint32 {
	var info windows.PROCESS_BASIC_INFORMATION
	size := uint32(unsafe.Sizeof(info))
	if windows.NtQueryInformationProcess(process, windows.ProcessBasicInformation, unsafe.Pointer(&info), size, nil) != nil {
		return 0
	}
	return uint32(info.InheritedFromUniqueProcessId)
}

// Ask sets the event.
func (p *process) Ask() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stop != 0 {
		_ = windows.SetEvent(p.stop)
	}
}

// Kill ends all that is in the job.
func (p *process) Kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.job != 0 {
		_ = windows.TerminateJobObject(p.job, 1)
	}
}

func (p *process) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, h := range []windows.Handle{p.stop, p.job, p.main} {
		if h != 0 {
			_ = windows.CloseHandle(h)
		}
	}
	p.stop, p.job = 0, 0
}
