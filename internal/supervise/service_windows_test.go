package supervise

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/svc"
	"golang.org/x/sys/windows/svc/mgr"

	"sidetone/internal/platform/windows/acl"
	"sidetone/internal/testlab/ipctest"
	"sidetone/internal/wine"
)

// These make this test binary an agent, or the service, with a folder in which agents say that they have started, and read how they are to
// end.
const (
	agentVerb   = "agent-of-a-test"
	helperVerb  = "helper-of-a-test"
	serviceVerb = "service-of-a-test"
)

// patience is how long a test waits for what must happen.
const patience = 30 * time.Second

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == agentVerb {
		os.Exit(agentOfATest(os.Args[2]))
	}
	if len(os.Args) == 2 && os.Args[1] == helperVerb {
		os.Exit(1)
	}
	if len(os.Args) > 2 && os.Args[1] == serviceVerb {
		os.Exit(serviceOfATest(os.Args[2]))
	}
	os.Exit(m.Run())
}

// agentOfATest writes its process id into a file of the folder, and ends as a file there says, or when it is asked.
func agentOfATest(folder string) int {
	user, err := windows.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		return 3
	}
	name, err := windows.UTF16PtrFromString(os.Getenv(StopEventVariable))
	if err != nil {
		return 7
	}
	stop, err := windows.OpenEvent(windows.SYNCHRONIZE, false, name)
	if err != nil {
		return 4
	}
	for exists(filepath.Join(folder, "loading")) {
		time.Sleep(time.Millisecond)
	}
	alive, err := acl.NewEvent(AliveEvent(os.Getenv(StopEventVariable), uint32(os.Getpid())), "", true)
	if err != nil {
		return 8
	}
	_ = os.WriteFile(filepath.Join(folder, "user"), []byte(user.User.Sid.String()), 0o600)
	working, _ := os.Getwd()
	text := strconv.Itoa(os.Getpid()) + " " + strings.ToLower(working)
	if os.WriteFile(filepath.Join(folder, "started-"+strconv.Itoa(os.Getpid())), []byte(text), 0o600) != nil {
		return 5
	}
	for {
		if text, err := os.ReadFile(filepath.Join(folder, "end")); err == nil && os.Remove(filepath.Join(folder, "end")) == nil {
			code, _ := strconv.Atoi(string(text))
			return code
		}
		if !exists(filepath.Join(folder, "hang")) {
			_ = windows.ResetEvent(alive)
		}
		if event, _ := windows.WaitForSingleObject(stop, 20); event == windows.WAIT_OBJECT_0 {
			_ = os.WriteFile(filepath.Join(folder, "asked"), nil, 0o600)
			return 0
		}
	}
}

// serviceOfATest is the service, for programs of any user: Wine has no access lists.
func serviceOfATest(folder string) int {
	self, err := os.Executable()
	if err != nil {
		return 1
	}
	s := &service{Check: func() error { return nil }, Supervisor: Supervisor{
		Log: slog.New(slog.DiscardHandler), Machine: allSessions{Program{self, []string{agentVerb, folder}}, func() error { return nil }},
	}}
	if svc.Run(testService, s) != nil {
		return 1
	}
	return 0
}

const testService = "sidetone-test-service"

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// agents are those that have started in a folder, by process id.
func agents(t *testing.T, folder string) (pids []int) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "started-*"))
	require.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		pid, folder, _ := strings.Cut(string(text), " ")
		number, _ := strconv.Atoi(pid)
		if number != 0 {
			require.Equal(t, `c:\windows\system32`, folder, "no DLL can be planted there")
			pids = append(pids, number)
		}
	}
	return pids
}

// started waits until so many have, and returns the last.
func started(t *testing.T, folder string, n int, before ...int) (pid int) {
	t.Helper()
	require.Eventually(t, func() bool { return len(agents(t, folder)) >= n }, patience, 20*time.Millisecond, "%d starts", n)
	for _, p := range agents(t, folder) {
		pid = p
		for _, b := range before {
			if p == b {
				pid = 0
			}
		}
		if pid != 0 {
			return pid
		}
	}
	return 0
}

func isRunning(pid int) bool {
	process, err := windows.OpenProcess(windows.SYNCHRONIZE, false, uint32(pid))
	if err != nil {
		return false
	}
	defer windows.CloseHandle(process)
	event, _ := windows.WaitForSingleObject(process, 0)
	return event != windows.WAIT_OBJECT_0
}

func gone(t *testing.T, pid int) {
	t.Helper()
	require.Eventually(t, func() bool { return !isRunning(pid) }, patience, 20*time.Millisecond, "process %d", pid)
}

func kill(t *testing.T, pid int) {
	t.Helper()
	process, err := os.FindProcess(pid)
	require.NoError(t, err)
	require.NoError(t, process.Kill())
}

func ends(t *testing.T, folder string, code int) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "end"), []byte(strconv.Itoa(code)), 0o600))
}

// TestService runs the service under Windows' own service manager: it starts an agent in the session, again when that is killed, asks it at
// the end, leaves one alone that has ended in order, and takes it along when it is killed.
func TestService(t *testing.T) {
	folder := t.TempDir()
	s := install(t, folder)
	require.NoError(t, s.Start())
	first := started(t, folder, 1)
	kill(t, first)
	second := started(t, folder, 2, first)

	_, err := s.Control(svc.Stop)
	require.NoError(t, err)
	stopped(t, s)
	gone(t, second)
	_, err = os.Stat(filepath.Join(folder, "asked"))
	require.NoError(t, err, "it was asked before it was killed")

	require.NoError(t, s.Start())
	third := started(t, folder, 3, first, second)
	status, err := s.Query()
	require.NoError(t, err)
	kill(t, int(status.ProcessId))
	gone(t, third)
	stopped(t, s)

	require.NoError(t, s.Start())
	started(t, folder, 4, first, second, third)
	ends(t, folder, 0)
	require.Eventually(t, func() bool { return !exists(filepath.Join(folder, "end")) }, patience, 20*time.Millisecond)
	_, err = s.Control(svc.Stop)
	require.NoError(t, err)
	stopped(t, s)
	require.Len(t, agents(t, folder), 4, "what the user quit stays down")
}

// install registers the service of tests, until the test ends.
func install(t *testing.T, folder string) *mgr.Service {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	m, err := mgr.Connect()
	require.NoError(t, err)
	t.Cleanup(func() { _ = m.Disconnect() })
	s, err := m.CreateService(testService, self, mgr.Config{StartType: mgr.StartManual}, serviceVerb, folder)
	require.NoError(t, err)
	t.Cleanup(func() {
		_, _ = s.Control(svc.Stop)
		require.NoError(t, s.Delete())
		_ = s.Close()
	})
	return s
}

func stopped(t *testing.T, s *mgr.Service) {
	t.Helper()
	require.Eventually(t, func() bool {
		status, err := s.Query()
		return err == nil && status.State == svc.Stopped
	}, patience, 20*time.Millisecond)
}

// TestOwnSession is what Windows starts at log-in without a service: the agent outlives it.
func TestOwnSession(t *testing.T) {
	folder := t.TempDir()
	self, err := os.Executable()
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	down, done := make(chan int, 1), make(chan struct{})
	s := Supervisor{
		Machine: OwnSession{Program{self, []string{agentVerb, folder}}}, Log: slog.New(slog.DiscardHandler),
		Down: func(_ Session, code int) { down <- code },
	}
	go func() {
		defer close(done)
		s.Run(ctx, nil)
	}()
	first := started(t, folder, 1)
	ends(t, folder, 2)
	second := started(t, folder, 2, first)
	ends(t, folder, ExitUpdate)
	next := started(t, folder, 3, first, second)
	kill(t, next)
	last := started(t, folder, 4, first, second, next)
	require.NotZero(t, last, "the newer program is looked after as well")
	ends(t, folder, ExitConfig)
	require.Equal(t, ExitConfig, <-down)
	cancel()
	<-done
	require.Len(t, agents(t, folder), 4)
}

// TestRefusedService: programs that users may change are not started with the system's rights, and the event log says so.
func TestRefusedService(t *testing.T) {
	var log bytes.Buffer
	s := &service{
		Check:      func() error { return errors.New("it belongs to user Anna") },
		Supervisor: Supervisor{Log: slog.New(slog.NewTextHandler(&log, nil))},
	}
	status := make(chan svc.Status, 8)
	own, code := s.Execute(nil, nil, status)
	require.True(t, own)
	require.EqualValues(t, refused, code)
	require.Equal(t, svc.StartPending, (<-status).State)
	require.Empty(t, status, "it never ran")
	require.Contains(t, log.String(), "it belongs to user Anna")
}

// sessionsOf is a machine of which the test says who is logged on.
type sessionsOf struct {
	list    chan []Session
	started chan Session
	killed  chan struct{} // closed when an agent is killed, of which none answers; nil: all do
}

func (m sessionsOf) Sessions() (Sessions, error) { return Sessions{Users: <-m.list}, nil }

func (m sessionsOf) Start(s Session, _ int) (Process, error) {
	m.started <- s
	return ofATest{make(chan int, 1), m.killed}, nil
}

type ofATest struct {
	end    chan int
	killed chan struct{}
}

func (p ofATest) Wait() int { return <-p.end }
func (p ofATest) Ask()      { p.end <- 0 }

func (p ofATest) Kill() {
	close(p.killed)
	p.end <- 0
}

func (p ofATest) Ping() {}

func (p ofATest) Answers() Answer {
	if p.killed == nil {
		return Answered
	}
	return Silent
}

// TestSessionChanges: what Windows tells of sessions has them listed anew, whatever it says of which.
func TestSessionChanges(t *testing.T) {
	m := sessionsOf{make(chan []Session), make(chan Session, 8), nil}
	s := &service{Check: func() error { return nil }, Supervisor: Supervisor{Machine: m, Log: slog.New(slog.DiscardHandler)}}
	requests, status, done := make(chan svc.ChangeRequest), make(chan svc.Status, 8), make(chan struct{})
	go func() {
		defer close(done)
		_, _ = s.Execute(nil, requests, status)
	}()
	anna, ben := Session{1, 1}, Session{2, 2}
	m.list <- []Session{anna}
	require.Equal(t, anna, <-m.started)
	requests <- svc.ChangeRequest{Cmd: svc.SessionChange, EventType: windows.WTS_SESSION_LOGON}
	m.list <- []Session{anna, ben}
	require.Equal(t, ben, <-m.started)
	requests <- svc.ChangeRequest{Cmd: svc.SessionChange, EventType: windows.WTS_SESSION_UNLOCK}
	m.list <- []Session{anna, ben} // after which agents are asked soon
	requests <- svc.ChangeRequest{Cmd: svc.Interrogate, CurrentStatus: svc.Status{State: svc.Running, CheckPoint: 7}}
	requests <- svc.ChangeRequest{Cmd: svc.Stop}
	<-done
	var states []svc.State
	for len(status) > 0 {
		states = append(states, (<-status).State)
	}
	require.Equal(t, []svc.State{svc.StartPending, svc.Running, svc.Running, svc.Running, svc.StopPending}, states)
}

// TestNoLogOnIsMissed: sessions are listed once Windows tells of those that come.
func TestNoLogOnIsMissed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := sessionsOf{make(chan []Session), make(chan Session, 8), nil}
		s := &service{Check: func() error { return nil }, Supervisor: Supervisor{Machine: m, Log: slog.New(slog.DiscardHandler)}}
		requests, status, done := make(chan svc.ChangeRequest), make(chan svc.Status), make(chan struct{})
		go func() {
			defer close(done)
			_, _ = s.Execute(nil, requests, status)
		}()
		listed := func() bool {
			synctest.Wait()
			select {
			case m.list <- nil:
				return true
			default:
				return false
			}
		}
		require.Equal(t, svc.StartPending, (<-status).State)
		require.False(t, listed())
		require.NotZero(t, (<-status).Accepts&svc.AcceptSessionChange)
		require.False(t, listed(), "it was taken to be handed to Windows")
		require.NotZero(t, (<-status).Accepts&svc.AcceptSessionChange)
		require.True(t, listed())
		requests <- svc.ChangeRequest{Cmd: svc.Stop}
		require.Equal(t, svc.StopPending, (<-status).State)
		<-done
	})
}

// TestEndOfWhichNothingIsKnown is a failure, and none that the user wanted.
func TestEndOfWhichNothingIsKnown(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	info, err := Program{Path: self, Args: []string{helperVerb}}.create(0, os.Environ())
	require.NoError(t, err)
	defer windows.CloseHandle(info.Thread)
	defer windows.CloseHandle(info.Process)
	require.NoError(t, windows.TerminateProcess(info.Process, 0))
	require.Zero(t, exitCodeOf(info.Process))
	waitOnly, err := windows.OpenProcess(windows.SYNCHRONIZE, false, info.ProcessId)
	require.NoError(t, err)
	defer windows.CloseHandle(waitOnly)
	require.EqualValues(t, 1, exitCodeOf(waitOnly))
	require.EqualValues(t, 1, exitCodeOf(0))
}

// TestAgentSaysThatItIsAlive: by an event, to whom has started it. One that has not made it yet may hang, too.
func TestAgentSaysThatItIsAlive(t *testing.T) {
	folder := t.TempDir()
	self, err := os.Executable()
	require.NoError(t, err)
	loading := filepath.Join(folder, "loading")
	require.NoError(t, os.WriteFile(loading, nil, 0o600))
	p, err := Program{self, []string{agentVerb, folder}}.start(0, true, 0)
	require.NoError(t, err)
	ended := make(chan int)
	go func() { ended <- p.Wait() }()
	p.Ping()
	require.Equal(t, Silent, p.Answers(), "it has no event yet")
	require.NoError(t, os.Remove(loading))
	started(t, folder, 1)
	require.Equal(t, Unasked, p.Answers(), "it had no event then")
	p.Ping()
	require.Eventually(t, func() bool { return p.Answers() == Answered }, patience, time.Millisecond)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "hang"), nil, 0o600))
	require.Eventually(t, func() bool {
		was := p.Answers()
		p.Ping()
		return was == Silent
	}, patience, time.Millisecond)
	p.Ask()
	require.Zero(t, <-ended)
	require.Equal(t, Unclear, p.Answers(), "it is not there any more")
}

// TestEventThatIsTaken: its name is known as soon as another agent has one. What somebody else says by it neither has an agent killed, nor
// a helper go on in its place.
func TestEventThatIsTaken(t *testing.T) {
	folder := t.TempDir()
	self, err := os.Executable()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "loading"), nil, 0o600))
	p, err := Program{self, []string{agentVerb, folder}}.start(0, true, 0)
	require.NoError(t, err)
	defer p.close()
	defer p.Kill()
	sd, err := windows.SecurityDescriptorFromString("O:" + ipctest.Stranger + "D:(A;;GA;;;WD)")
	require.NoError(t, err)
	name, err := windows.UTF16PtrFromString(AliveEvent(p.name, p.pid))
	require.NoError(t, err)
	attributes := &windows.SecurityAttributes{SecurityDescriptor: sd}
	attributes.Length = uint32(unsafe.Sizeof(*attributes))
	taken, err := windows.CreateEvent(attributes, 1, 1, name)
	if errors.Is(err, windows.ERROR_INVALID_OWNER) && !wine.Is() {
		t.Skip("Windows lets nobody else make an event that belongs to another user")
	}
	require.NoError(t, err)
	defer windows.CloseHandle(taken)
	p.Ping()
	require.Equal(t, Unclear, p.Answers())
	_, err = p.openAlive(p.pid)
	require.ErrorContains(t, err, "it was made by user "+ipctest.Stranger)
}

// TestWhoIsFrozen: a process that runs is not, and neither is one of which all threads are suspended. Who is, Wine does not show.
func TestWhoIsFrozen(t *testing.T) {
	frozen, err := isFrozen(windows.CurrentProcess())
	require.NoError(t, err)
	require.False(t, frozen)
	self, err := os.Executable()
	require.NoError(t, err)
	info, err := Program{Path: self, Args: []string{helperVerb}}.create(0, os.Environ())
	require.NoError(t, err)
	defer windows.CloseHandle(info.Thread)
	defer windows.CloseHandle(info.Process)
	frozen, err = isFrozen(info.Process)
	require.NoError(t, err)
	require.False(t, frozen)
	require.NoError(t, windows.TerminateProcess(info.Process, 0))
}

// TestServiceHearsOfSleep: what agents have not answered before and after it is no sign of a hang.
func TestServiceHearsOfSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		silent := make(chan struct{})
		m := sessionsOf{make(chan []Session, 1), make(chan Session, 8), silent}
		s := &service{Check: func() error { return nil }, Supervisor: Supervisor{Machine: m, Log: slog.New(slog.DiscardHandler)}}
		requests, status, done := make(chan svc.ChangeRequest), make(chan svc.Status, 8), make(chan struct{})
		go func() {
			defer close(done)
			_, _ = s.Execute(nil, requests, status)
		}()
		<-status
		require.NotZero(t, (<-status).Accepts&svc.AcceptPowerEvent)
		m.list <- []Session{{1, 1}}
		<-m.started
		for range 3 {
			for _, event := range sleep {
				time.Sleep(maxPings * pongTime)
				requests <- svc.ChangeRequest{Cmd: svc.PowerEvent, EventType: event}
			}
		}
		const battery = 0x0a // PBT_APMPOWERSTATUSCHANGE
		time.Sleep(maxPings * pongTime)
		requests <- svc.ChangeRequest{Cmd: svc.PowerEvent, EventType: battery}
		synctest.Wait()
		select {
		case <-silent:
			require.Fail(t, "it was killed")
		default:
		}
		time.Sleep(pingSoon)
		<-silent
		m.list <- nil
		requests <- svc.ChangeRequest{Cmd: svc.Stop}
		<-done
	})
}

// TestWhoIsLoggedOn goes by tokens: no state of a session ends an agent, and no error does that may be over in a moment.
func TestWhoIsLoggedOn(t *testing.T) {
	list := []windows.WTS_SESSION_INFO{{SessionID: 0, State: windows.WTSDisconnected}, {SessionID: 65536, State: windows.WTSListen}}
	for state := uint32(windows.WTSActive); state <= windows.WTSInit; state++ {
		if state != windows.WTSListen {
			list = append(list, windows.WTS_SESSION_INFO{SessionID: 10 + state, State: state})
		}
	}
	all, err := usersOf(list, func(session uint32) (uint64, error) { return uint64(100 + session), nil })
	require.NoError(t, err)
	require.Len(t, all.Users, len(list)-2)
	require.Contains(t, all.Users, Session{10 + windows.WTSConnectQuery, 110 + windows.WTSConnectQuery})
	for err, unknown := range map[error]bool{
		windows.ERROR_NO_TOKEN: false, windows.ERROR_FILE_NOT_FOUND: false, windows.ERROR_CTX_WINSTATION_NOT_FOUND: false,
		windows.ERROR_ACCESS_DENIED: true, windows.ERROR_NOT_ENOUGH_MEMORY: true, windows.RPC_S_SERVER_UNAVAILABLE: true,
	} {
		all, unclear := usersOf(list[:3], func(session uint32) (uint64, error) { return 0, fmt.Errorf("session %d: %w", session, err) })
		require.Empty(t, all.Users)
		require.NotNil(t, all.Unknown, "else all would be")
		require.Equal(t, unknown, len(all.Unknown) == 1, err)
		require.Equal(t, unknown, errors.Is(unclear, err))
	}
}

// TestUserWithoutAProfile: a token may be there before it is loaded. Of that session nothing is known, not even that nobody is logged on.
func TestUserWithoutAProfile(t *testing.T) {
	own, err := readyIn(windows.GetCurrentProcessToken())
	require.NoError(t, err)
	logon, err := acl.LogonOf(windows.GetCurrentProcessToken())
	require.NoError(t, err)
	require.Equal(t, logon, own)
	stranger := ipctest.StrangersToken(t)
	all, unclear := usersOf([]windows.WTS_SESSION_INFO{{SessionID: 1}}, func(uint32) (uint64, error) { return readyIn(stranger) })
	require.ErrorContains(t, unclear, "the profile of user "+ipctest.Stranger+" is not loaded")
	require.Empty(t, all.Users)
	require.Equal(t, []uint32{1}, all.Unknown)
}

// eventsOfATest are lines of an event log.
type eventsOfATest []string

func (e *eventsOfATest) add(text string) error {
	*e = append(*e, text)
	return nil
}

func (e *eventsOfATest) Info(_ uint32, text string) error    { return e.add(text) }
func (e *eventsOfATest) Warning(_ uint32, text string) error { return e.add(text) }
func (e *eventsOfATest) Error(_ uint32, text string) error   { return e.add(text) }

// TestTheEventLogIsNotFilled by what is tried again for days: it has each line once an hour.
func TestTheEventLogIsNotFilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines eventsOfATest
		events := newEvents(&lines)
		log := slog.New(events)
		for range 24 * 60 {
			log.Error("the agent cannot be started", "session", 1)
			log.Error("the agent cannot be started", "session", 2)
			time.Sleep(time.Minute)
		}
		require.Len(t, lines, 48)
		time.Sleep(time.Hour)
		log.Info("the agent has ended")
		require.Len(t, events.written, 1, "nothing is kept for longer")
	})
}

// TestProgramIsCheckedBeforeEachStart: what only administrators could change at the start of the service need not be so any more.
func TestProgramIsCheckedBeforeEachStart(t *testing.T) {
	folder := t.TempDir()
	self, err := os.Executable()
	require.NoError(t, err)
	var refusal error
	m := allSessions{Program{self, []string{agentVerb, folder}}, func() error { return refusal }}
	all, err := m.Sessions()
	require.NoError(t, err)
	require.Len(t, all.Users, 1)
	p, err := m.Start(all.Users[0], 0)
	require.NoError(t, err)
	started(t, folder, 1)
	p.Ask()
	require.Zero(t, p.Wait())
	refusal = errors.New("user Anna may change it")
	_, err = m.Start(all.Users[0], 0)
	require.ErrorIs(t, err, refusal)
	require.Len(t, agents(t, folder), 1)
}

// TestAgentOfAnotherUser: it runs as the user of a token, and hears by the event, which that user may wait for, that it is to end.
func TestAgentOfAnotherUser(t *testing.T) {
	folder := t.TempDir()
	self, err := os.Executable()
	require.NoError(t, err)
	program := Program{self, []string{agentVerb, folder}}
	own, err := program.start(0, true, 0)
	require.NoError(t, err)
	first := started(t, folder, 1)
	other, err := program.start(ipctest.StrangersToken(t), true, 0)
	require.NoError(t, err)
	second := started(t, folder, 2, first)
	user, err := os.ReadFile(filepath.Join(folder, "user"))
	require.NoError(t, err)
	require.Equal(t, ipctest.Stranger, string(user))
	other.Ping()
	require.Eventually(t, func() bool { return other.Answers() == Answered }, patience, time.Millisecond)
	other.user = own.user
	require.Equal(t, Unclear, other.Answers(), "an event of another user says nothing")
	other.Ask()
	require.Zero(t, other.Wait())
	gone(t, second)
	require.True(t, isRunning(first), "each is asked by an event of its own")
	own.Ask()
	require.Zero(t, own.Wait())
}
