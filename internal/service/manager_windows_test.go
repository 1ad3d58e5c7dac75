package service

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"
	"golang.org/x/sys/windows/svc/eventlog"
	"golang.org/x/sys/windows/svc/mgr"

	"sidetone/internal/brand"
	"sidetone/internal/platform/desktop"
	"sidetone/internal/platform/windows/eventsource"
	"sidetone/internal/service/scm"
	"sidetone/internal/service/tasks"
	"sidetone/internal/wine"
)

// agentFor is an agent of that name with its programs, which start nothing, and without one that runs.
func agentFor(t *testing.T, name string) Agent {
	t.Helper()
	program := filepath.Join(t.TempDir(), name+".exe")
	for _, path := range []string{program, brand.TrayOf(program), brand.ServiceOf(program)} {
		require.NoError(t, os.WriteFile(path, nil, 0o700))
	}
	a := Agent{
		Name: name, Executable: program, Arguments: []string{"run", `--catalogue=C:\a "b"\acme.yaml`, "--vendor=acme"},
		Running: func(context.Context) (Process, error) { return Process{}, fs.ErrNotExist },
	}
	a.Tray = desktop.Entry{ID: name + "-tray", Command: []string{brand.TrayOf(program), "--vendor=acme"}}
	return a
}

// keptTasks has definitions of tasks kept whole until the test ends, beside what Wine keeps of them.
func keptTasks(t *testing.T) {
	if !wine.Is() {
		return
	}
	reads, writes, kept := readTask, writeTask, make(map[string]string)
	t.Cleanup(func() { readTask, writeTask = reads, writes })
	writeTask = func(name, text string, forAll bool) error {
		kept[name] = text
		return writes(name, text, forAll)
	}
	readTask = func(name string) (tasks.Stored, error) {
		task, err := reads(name)
		if task.Text != "" {
			require.Contains(t, task.Text, "<Version>"+tasks.Version+"</Version>")
			task.Text, task.Owner = kept[name], administrators
		}
		return task, err
	}
}

const administrators = "S-1-5-32-544"

// trust has programs be those of the administrators until the test ends.
func trust(t *testing.T) {
	was := trusted
	t.Cleanup(func() { trusted = was })
	trusted = func(string) error { return nil }
}

// done does what an Installer plans, and then requires that nothing is left to do.
func done(t *testing.T, plan func(context.Context) (Plan, error)) string {
	t.Helper()
	p, err := plan(t.Context())
	require.NoError(t, err)
	require.NotEmpty(t, p)
	require.NoError(t, p.Do(t.Context()))
	again, err := plan(t.Context())
	require.NoError(t, err)
	require.Empty(t, again, "twice: %s", again)
	return p.String()
}

func TestRegistration(t *testing.T) {
	trust(t)
	keptTasks(t)
	for _, c := range []struct {
		as   Kind
		all  bool
		path string
	}{
		{Run, false, `HKCU\Software\Microsoft\Windows\CurrentVersion\Run\acme-`},
		{Run, true, `HKLM\Software\Microsoft\Windows\CurrentVersion\Run\acme-`},
		{Task, false, `Task Scheduler Library\acme-`},
		{Task, true, `Task Scheduler Library\acme-`},
		{Service, true, "service acme-"},
	} {
		name := "acme-" + string(c.as) + map[bool]string{true: "-all"}[c.all]
		t.Run(name, func(t *testing.T) {
			a := agentFor(t, name)
			m := &manager{a, c.as, c.all}
			other := agentFor(t, "other-"+string(c.as)) // another vendor's
			done(t, (&manager{other, c.as, c.all}).Install)
			defer func() { done(t, (&manager{other, c.as, c.all}).Uninstall) }()

			st, err := m.State(t.Context())
			require.NoError(t, err)
			require.False(t, st.Installed)
			require.Contains(t, done(t, m.Install), map[bool]string{true: "-service.exe", false: "w.exe"}[c.as == Service])
			st, err = m.State(t.Context())
			require.NoError(t, err)
			require.Equal(t, State{Kind: c.as, Path: st.Path, Installed: true, Enabled: true, Tray: true}, st)
			require.True(t, strings.HasPrefix(st.Path, c.path), st.Path)
			require.Equal(t, c.all, eventsource.IsOurs(name), "the event log source, which takes an administrator")
			args, err := m.Arguments(t.Context())
			require.NoError(t, err)
			require.Equal(t, a.Arguments, args)

			a.Arguments = []string{"run", "--vendor=acme"}
			done(t, (&manager{a, "", c.all}).Install) // as it is
			st, err = (&manager{Agent: a}).State(t.Context())
			require.NoError(t, err)
			require.Equal(t, c.as, st.Kind)
			args, err = (&manager{Agent: a}).Arguments(t.Context())
			require.NoError(t, err)
			require.Equal(t, a.Arguments, args)
			if c.all {
				_, err = (&manager{Agent: a}).Uninstall(t.Context())
				require.ErrorContains(t, err, "installed for all users")
			}
			done(t, m.Uninstall)
			require.False(t, eventsource.Exists(name))
			st, err = m.State(t.Context())
			require.NoError(t, err)
			require.Equal(t, State{Kind: Run, Path: st.Path}, st)
			args, err = m.Arguments(t.Context())
			require.NoError(t, err)
			require.Nil(t, args)
		})
	}
}

// TestOneWayAtATime: what installs it otherwise takes the way of before back, for two would start it.
func TestOneWayAtATime(t *testing.T) {
	trust(t)
	keptTasks(t)
	a := agentFor(t, "acme-ways")
	defer func() { done(t, (&manager{a, "", true}).Uninstall) }()
	for _, as := range []Kind{Run, Service, Task, Run, Task, Service} {
		done(t, (&manager{a, as, true}).Install)
		for _, s := range a.starters(true) {
			reg, err := s.current()
			require.NoError(t, err)
			require.Equal(t, s.kind() == as, reg.command != nil, "%s while it is installed as %s", s.kind(), as)
		}
	}
}

// TestEventLogSourceOfOthers: that of an installed package goes with the package, and that of somebody else's software is left as it is.
func TestEventLogSourceOfOthers(t *testing.T) {
	trust(t)
	const packaged, foreign = "acme-packaged", "acme-foreign-source"
	key, _, err := registry.CreateKey(registry.LOCAL_MACHINE, `Software\`+packaged, registry.SET_VALUE)
	require.NoError(t, err)
	defer key.Close()
	require.NoError(t, key.SetStringValue("Package", "{7A3C0F5E-0000-4000-8000-000000000001}"))
	defer func() { require.NoError(t, registry.DeleteKey(registry.LOCAL_MACHINE, `Software\`+packaged)) }()
	require.NoError(t, eventsource.Register(packaged))
	require.NoError(t, eventlog.Install(foreign, `C:\other\messages.dll`, false, eventlog.Error))
	for _, name := range []string{packaged, foreign} {
		m := &manager{agentFor(t, name), Run, true}
		require.NotContains(t, done(t, m.Install), "event log")
		require.Equal(t, name == packaged, eventsource.IsOurs(name))
		require.NotContains(t, done(t, m.Uninstall), "event log")
		require.True(t, eventsource.Exists(name))
		require.NoError(t, eventsource.Remove(name))
	}
}

// TestSwitchedOffByTheUser: what a user has switched off in the settings of Windows stays so.
func TestSwitchedOffByTheUser(t *testing.T) {
	a := agentFor(t, "acme-off")
	m := &manager{Agent: a}
	done(t, m.Install)
	switchOff(t, a.Name)
	switchOff(t, a.Tray.ID)
	a.Arguments = append(a.Arguments, "--log-level=debug")
	done(t, (&manager{Agent: a}).Install)
	st, err := m.State(t.Context())
	require.NoError(t, err)
	require.True(t, st.Installed)
	require.False(t, st.Enabled)
	require.False(t, st.Tray)
	done(t, m.Uninstall)
	require.False(t, desktop.RunOfUser.SwitchedOff(a.Name), "nothing is left of it")
}

// switchOff is what the settings of Windows do.
func switchOff(t *testing.T, value string) {
	const approved = `Software\Microsoft\Windows\CurrentVersion\Explorer\StartupApproved\Run`
	key, _, err := registry.CreateKey(registry.CURRENT_USER, approved, registry.SET_VALUE)
	require.NoError(t, err)
	defer key.Close()
	require.NoError(t, key.SetBinaryValue(value, []byte{3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}))
}

// TestProgramsOfUsersBecomeNoService: whoever may change them would have the system's rights.
func TestProgramsOfUsersBecomeNoService(t *testing.T) {
	a := agentFor(t, "acme-untrusted")
	for _, as := range []Kind{Run, Task, Service} {
		_, err := (&manager{a, as, true}).Install(t.Context())
		require.ErrorContains(t, err, "install the programs where only administrators may write", as)
	}
	_, err := New(a, Service, nil)
	require.ErrorContains(t, err, "--global")
	_, err = New(a, Systemd, nil)
	require.ErrorContains(t, err, "want run, task or service")
}

func TestWhatIsNotOurs(t *testing.T) {
	a := agentFor(t, "acme-foreign")
	m := &manager{Agent: a}
	done(t, m.Install)
	done(t, m.Uninstall)
	require.ErrorContains(t, desktop.RunOfUser.Set(a.Name, strings.Repeat("x", 261)), "at most 260 characters")
	require.NoError(t, os.Remove(brand.TrayOf(a.Executable)))
	_, err := m.Install(t.Context())
	require.ErrorContains(t, err, "is not there: install it")
	_, err = m.Start(t.Context())
	require.ErrorContains(t, err, "not installed")
}

// TestInstallLeavesWhatIsNotOurs: what starts another program under one of our names is not replaced, and nothing else is done.
func TestInstallLeavesWhatIsNotOurs(t *testing.T) {
	trust(t)
	keptTasks(t)
	ours, theirs := agentFor(t, "acme-kept"), agentFor(t, "acme-kept")
	for _, all := range []bool{false, true} {
		m := &manager{ours, "", all}
		for _, value := range []string{ours.Name, ours.Tray.ID} {
			for _, line := range []string{`"C:\other one.exe" --quiet`, runKey{Agent: theirs}.command()} {
				require.NoError(t, m.trayKey().Set(value, line))
				_, err := m.Install(t.Context())
				require.ErrorContains(t, err, m.trayKey().Path(value)+" starts another program already, "+line+": ")
			}
			require.NoError(t, m.trayKey().Remove(value))
		}
		for _, as := range []Kind{Run, Task} {
			done(t, (&manager{theirs, as, all}).Install)
			st, err := m.State(t.Context())
			require.NoError(t, err)
			require.False(t, st.Installed)
			require.False(t, st.Tray)
			_, err = (&manager{ours, as, all}).Install(t.Context())
			require.ErrorContains(t, err, theirs.Executable[:len(theirs.Executable)-len(".exe")])
			done(t, (&manager{theirs, as, all}).Uninstall)
		}
	}
}

// TestUninstallLeavesWhatIsNotOurs: a program of the same name is another vendor's for as long as it is there, and one of another name is.
func TestUninstallLeavesWhatIsNotOurs(t *testing.T) {
	keptTasks(t)
	ours, theirs := agentFor(t, "acme-same"), agentFor(t, "acme-same")
	host := runKey{theirs, desktop.RunOfUser}.command()
	for name, c := range map[string]struct{ agent, tray string }{
		"the same name":  {host, windows.ComposeCommandLine(theirs.Tray.Command)},
		"another name":   {`"C:\other one.exe" host run`, `C:\other.exe`},
		"no path at all": {`%ProgramFiles%\acme-other.exe`, "acme-other.exe"},
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, desktop.RunOfUser.Set(ours.Name, c.agent))
			require.NoError(t, desktop.RunOfUser.Set(ours.Tray.ID, c.tray))
			st, err := (&manager{Agent: ours}).State(t.Context())
			require.NoError(t, err)
			require.False(t, st.Installed)
			plan, err := (&manager{Agent: ours}).Uninstall(t.Context())
			require.NoError(t, err)
			require.Len(t, plan.Left(), 2)
			require.NoError(t, plan.Do(t.Context()))
			for value, line := range map[string]string{ours.Name: c.agent, ours.Tray.ID: c.tray} {
				now, err := desktop.RunOfUser.Command(value)
				require.NoError(t, err)
				require.Equal(t, line, now)
				require.Contains(t, plan.String(), "left as it is: "+desktop.RunOfUser.Path(value)+", which starts another program, "+line)
			}
		})
	}
	require.NoError(t, desktop.RunOfUser.Remove(ours.Name))
	require.NoError(t, desktop.RunOfUser.Remove(ours.Tray.ID))

	for _, as := range []Kind{Run, Task} {
		done(t, (&manager{theirs, as, false}).Install)
		plan, err := (&manager{Agent: ours}).Uninstall(t.Context())
		require.NoError(t, err)
		require.Len(t, plan.Left(), 2, as)
		require.Len(t, plan, 2, as)
		require.NoError(t, os.Rename(brand.TrayOf(theirs.Executable), brand.TrayOf(theirs.Executable)+".old"))
		done(t, (&manager{Agent: ours}).Uninstall) // as it is not there any more
		require.NoError(t, os.Rename(brand.TrayOf(theirs.Executable)+".old", brand.TrayOf(theirs.Executable)))
	}
}

// TestServiceOfSomebodyElse: a service of that name is left as it is, and one of ours is put back as it was registered.
func TestServiceOfSomebodyElse(t *testing.T) {
	trust(t)
	a := agentFor(t, "acme-taken")
	m, err := mgr.Connect()
	require.NoError(t, err)
	defer m.Disconnect()
	foreign, err := m.CreateService(a.Name, `C:\backup\backup.exe`, mgr.Config{StartType: mgr.StartManual}, a.Name, `C:\backup`)
	require.NoError(t, err)
	defer foreign.Close()
	before, err := configOf(foreign)
	require.NoError(t, err)
	_, err = (&manager{a, Service, true}).Install(t.Context())
	require.ErrorContains(t, err, `service acme-taken starts another program already, C:\backup\backup.exe`)
	require.ErrorContains(t, winService{a}.register(), "another program already", "nor one that has come meanwhile")
	plan, err := (&manager{a, Service, true}).Uninstall(t.Context())
	require.NoError(t, err)
	require.Equal(t, plan.String(), plan.Left().String(), "nothing is done")
	require.Contains(t, plan.String(), `left as it is: service acme-taken, which starts another program, C:\backup\backup.exe`)
	after, err := configOf(foreign)
	require.NoError(t, err)
	require.Equal(t, before, after)
	require.NoError(t, foreign.Delete())
	require.NoError(t, foreign.Close())

	// Its program has the name of ours, and starts ours.
	foreign, err = m.CreateService(a.Name, `C:\backup\acme-taken-service.exe`, mgr.Config{StartType: mgr.StartManual}, a.Name, a.Executable, "run")
	require.NoError(t, err)
	defer foreign.Close()
	_, err = (&manager{a, Service, true}).Install(t.Context())
	require.ErrorContains(t, err, `service acme-taken starts another program already, C:\backup\acme-taken-service.exe`)
	require.NoError(t, foreign.Delete())
	require.NoError(t, foreign.Close())

	done(t, (&manager{a, Service, true}).Install)
	ours, err := m.OpenService(a.Name)
	require.NoError(t, err)
	defer ours.Close()
	require.NoError(t, windows.ChangeServiceConfig(ours.Handle, windows.SERVICE_WIN32_SHARE_PROCESS, windows.SERVICE_NO_CHANGE,
		windows.SERVICE_NO_CHANGE,
		nil, nil, nil, nil, windows.StringToUTF16Ptr(`NT AUTHORITY\LocalService`), nil, nil))
	done(t, (&manager{a, Service, true}).Install)
	now, err := configOf(ours)
	require.NoError(t, err)
	require.Equal(t, localSystem, now.account)
	require.EqualValues(t, windows.SERVICE_WIN32_OWN_PROCESS, now.kind)
	require.NoError(t, ours.Close())
	done(t, (&manager{a, Service, true}).Uninstall)
}

// TestServiceOfAnotherFolder: a program of the same name is another vendor's for as long as it is there.
func TestServiceOfAnotherFolder(t *testing.T) {
	trust(t)
	theirs, ours := agentFor(t, "headset-agent"), agentFor(t, "headset-agent")
	done(t, (&manager{theirs, Service, true}).Install)
	_, err := (&manager{ours, Service, true}).Install(t.Context())
	require.ErrorContains(t, err, "service headset-agent starts another program already, ")
	require.ErrorContains(t, winService{ours}.register(), "another program already", "nor one that has come meanwhile")
	plan, err := (&manager{ours, Service, true}).Uninstall(t.Context())
	require.NoError(t, err)
	require.Equal(t, plan.String(), plan.Left().String(), "nothing is done")
	require.NoError(t, os.RemoveAll(filepath.Dir(theirs.Executable)))
	done(t, (&manager{ours, Service, true}).Install)
	done(t, (&manager{ours, Service, true}).Uninstall)
}

// TestServiceThatFailsIsStartedAgain, however often.
func TestServiceThatFailsIsStartedAgain(t *testing.T) {
	trust(t)
	a := agentFor(t, "acme-fails")
	done(t, (&manager{a, Service, true}).Install)
	defer func() { done(t, (&manager{a, Service, true}).Uninstall) }()
	m, err := mgr.Connect()
	require.NoError(t, err)
	defer m.Disconnect()
	s, err := m.OpenService(a.Name)
	require.NoError(t, err)
	defer s.Close()
	actions, err := s.RecoveryActions()
	if wine.Is() { // does not keep them
		actions, err = scm.Actions, nil
	}
	require.NoError(t, err)
	require.Equal(t, scm.Actions, actions)
	require.Equal(t, mgr.ServiceRestart, actions[len(actions)-1].Type, "the last is for all that follow")
	again, err := restartsAfterErrors(s)
	require.NoError(t, err)
	require.False(t, again, "one that refuses to start would do so every 5 min, for ever")
}

// TestServiceOfAnEarlierVersion restarts also after errors: install takes that back.
func TestServiceOfAnEarlierVersion(t *testing.T) {
	trust(t)
	a := agentFor(t, "acme-earlier")
	m := &manager{a, Service, true}
	done(t, m.Install)
	defer func() { done(t, m.Uninstall) }()
	restartsAfterErrors = func(*mgr.Service) (bool, error) { return true, nil }
	defer func() { restartsAfterErrors = scm.RestartsAfterErrors }()
	plan, err := m.Install(t.Context())
	require.NoError(t, err)
	require.Contains(t, plan.String(), "register the service acme-earlier")
	require.NoError(t, plan.Do(t.Context()))
	restartsAfterErrors = func(*mgr.Service) (bool, error) { return false, windows.ERROR_ACCESS_DENIED }
	_, err = m.Install(t.Context())
	require.ErrorIs(t, err, windows.ERROR_ACCESS_DENIED)
}

// TestTaskOfSomebodyElse: what starts the agent of all users belongs to the administrators, and a user's name that another one has taken
// is no task of the user.
func TestTaskOfSomebodyElse(t *testing.T) {
	trust(t)
	keptTasks(t)
	a := agentFor(t, "acme-squatted")
	reads := readTask
	t.Cleanup(func() { readTask = reads })
	owned := func(owner string) {
		readTask = func(name string) (tasks.Stored, error) {
			task, err := reads(name)
			task.Owner = owner
			return task, err
		}
	}
	owned(administrators)
	done(t, (&manager{a, Task, true}).Install)
	for _, owner := range []string{"S-1-5-21-1-2-3-1001", ""} {
		owned(owner)
		plan, err := (&manager{a, Task, true}).Install(t.Context())
		require.NoError(t, err)
		require.NotEmpty(t, plan, "its owner could have all users start something else")
		require.NoError(t, plan.Do(t.Context()))
	}
	owned(administrators)
	done(t, (&manager{a, Task, true}).Uninstall)
}
