package app

import (
	"fmt"
	"runtime"
	"strconv"
	"time"

	"sidetone/internal/crash"
	"sidetone/internal/health"
)

// guardCrashes has crashes of this process reported, and returns whether several processes before it have crashed in a row: then this one
// does without devices and foreign code, so that it survives and can say so.
func (a *App) guardCrashes() (looping bool) {
	if !a.opts.OwnProcess {
		return false
	}
	var guard *crash.Guard
	folder, err := a.stateFolder()
	if err == nil {
		about := fmt.Sprintf("%s %s, %s, %s/%s", ProgramName(a.opts.Host), a.opts.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
		guard, err = crash.Open(folder, about, a.opts.LastCrash)
		a.opts.LastCrash = 0 // it is reported once
	}
	if err != nil {
		a.log.Warn("a crash would leave no report", "reason", err)
		return false
	}
	a.guard.Store(guard)
	return guard.Looping(time.Now())
}

// unguard leaves the reports of crashes to another agent, or marks an orderly end.
func (a *App) unguard() {
	if guard := a.guard.Swap(nil); guard != nil {
		guard.Close()
	}
}

// safeMode is the condition of an agent that has crashed too often.
var safeMode = health.Condition{
	Code: health.AgentSafeMode, Severity: health.Problem, Args: health.Args{"crashes": strconv.Itoa(crash.Limit)},
}

// noteForCrash keeps the codes of what is not in order for the report of a crash.
func (a *App) noteForCrash(conditions []health.Condition) {
	guard := a.guard.Load()
	if guard == nil {
		return
	}
	codes := []string{}
	for _, c := range conditions {
		codes = append(codes, string(c.Code))
	}
	guard.Note(codes)
}
