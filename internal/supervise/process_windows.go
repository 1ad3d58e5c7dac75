package supervise

import (
	"cmp"
	"crypto/rand"
	"errors"
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

	"sidetone/internal/platform/windows/acl"
)

// A Program is what is started for each user.
type Program struct {
	Path string // absolute
	Args []string
}

// process is an agent in a job of its own, which holds everything that it starts.
type process struct {
	name string // of the event stop
	user string // SID of the user that it runs as

	mu              sync.Mutex
	pid             uint32         // of main
	asked           uint32         // the process that the last Ping has reached; 0: none
	main, job, stop windows.Handle // 0: it has ended
}

// start starts the program as the token's user in that user's session, or without a token as this process's user. The program inherits
// nothing, and its working folder is the system's, where nobody can put a DLL. If bound, it is killed when this process ends in whatever
// way.
func (p Program) start(token windows.Token, bound bool, last int) (_ *process, err error) {
	name, list, user, err := stopEvent(token)
	if err != nil {
		return nil, err
	}
	started := &process{name: name, user: user}
	defer func() {
		if err != nil {
			started.close()
		}
	}()
	if started.stop, err = acl.NewEvent(name, list, true); err != nil {
		return nil, err
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
	environment = slices.DeleteFunc(environment, func(variable string) bool { // of two values Windows passes on the first
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

// stopEvent returns a name that nobody can have taken, an access list by which the token's user may only wait for the event, and that
// user's SID.
func stopEvent(token windows.Token) (name, list, sid string, err error) {
	user, err := cmp.Or(token, windows.GetCurrentProcessToken()).GetTokenUser()
	if err != nil {
		return "", "", "", fmt.Errorf("the user of a session: %w", err)
	}
	sid = user.User.Sid.String()
	if token == 0 {
		return `Local\sidetone-stop-` + rand.Text(), "", sid, nil
	}
	const synchronize = "0x00100000"
	return `Global\sidetone-stop-` + rand.Text(), "D:P(A;;GA;;;SY)(A;;" + synchronize + ";;;" + sid + ")", sid, nil
}

func newJob(bound bool) (windows.Handle, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err == nil && bound {
		limits := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{}
		var pins runtime.Pinner
		defer pins.Unpin()
		pins.Pin(&limits) // it is passed by address as a number, and a stack may move
		limits.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
		_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
			uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	}
	if err != nil {
		return job, fmt.Errorf("make a job: %w", err)
	}
	return job, nil
}

// create creates the process, suspended.
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

// Wait returns the exit code of the agent, and ends what that has started, such as its helper for sound.
func (p *process) Wait() int {
	defer p.close()
	code := exitCodeOf(p.main)
	_ = windows.TerminateJobObject(p.job, 1)
	return int(code)
}

// exitCodeOf waits for the end of a process. An unknown exit code counts as a failure: only 0 means that the agent is to stay down.
func exitCodeOf(process windows.Handle) (code uint32) {
	_, err := windows.WaitForSingleObject(process, windows.INFINITE)
	if err == nil {
		err = windows.GetExitCodeProcess(process, &code)
	}
	if err != nil {
		return 1
	}
	return code
}

// openAlive opens the event of a process if it is an agent of this supervisor.
func (p *process) openAlive(pid uint32) (windows.Handle, error) {
	return acl.OpenEvent(AliveEvent(p.name, pid), p.user, windows.SYNCHRONIZE|windows.EVENT_MODIFY_STATE)
}

// Ping sets the event, which the agent resets.
func (p *process) Ping() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = 0
	if alive, err := p.openAlive(p.pid); err == nil {
		if windows.SetEvent(alive) == nil {
			p.asked = p.pid
		}
		_ = windows.CloseHandle(alive)
	}
}

// Answers checks the event. An agent without an event has not started up yet; an event of another user says nothing about it.
func (p *process) Answers() Answer {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.main == 0 {
		return Unclear
	}
	alive, err := p.openAlive(p.pid)
	if err == nil {
		defer windows.CloseHandle(alive)
		event, err := windows.WaitForSingleObject(alive, 0)
		switch {
		case p.asked != p.pid:
			return Unasked
		case err == nil && event != windows.WAIT_OBJECT_0:
			return Answered
		}
	} else if !errors.Is(err, windows.ERROR_FILE_NOT_FOUND) {
		return Unclear
	}
	if frozen, err := isFrozen(p.main); err != nil || frozen {
		return Unclear
	}
	return Silent
}

// isFrozen reports whether Windows has frozen a process, as it does with users' processes in modern standby. A process that is suspended
// in another way, by a debugger for example, is not frozen.
func isFrozen(process windows.Handle) (bool, error) {
	const frozen = 1 << 4 // IsFrozen
	var info struct {     // PROCESS_EXTENDED_BASIC_INFORMATION
		size  uintptr
		basic windows.PROCESS_BASIC_INFORMATION
		flags uint32
	}
	info.size = unsafe.Sizeof(info)
	err := windows.NtQueryInformationProcess(process, windows.ProcessBasicInformation, unsafe.Pointer(&info), uint32(info.size), nil)
	if errors.Is(err, windows.STATUS_INFO_LENGTH_MISMATCH) {
		return false, nil // Wine, which does not know this structure and freezes nothing
	}
	return info.flags&frozen != 0, err
}

// Ask sets the stop event.
func (p *process) Ask() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stop != 0 {
		_ = windows.SetEvent(p.stop)
	}
}

// Kill ends all processes of the job.
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
	p.stop, p.job, p.main = 0, 0, 0
}
