package app

import (
	"fmt"
	"runtime"
	"strconv"
	"time"

	"sidetone/internal/crash"
	"sidetone/internal/health"
)

// guardCrashes has crashes of this process reported, and says whether there were several in a row before it: then it does without
// what talks to devices and to foreign code, so that it may live and say so.
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

// unguard leaves reports of crashes to another agent, or ends in order.
func (a *App) unguard() {
	if guard := a.guard.Swap(nil); guard != nil {
		guard.Close()
	}
}

// safeMode is the condition of an agent that has crashed too often.
var safeMode = health.Condition{
	Code: health.AgentSafeMode, Severity: health.Problem, Args: health.Args{"crashes": strconv.Itoa(crash.Limit)},
}

// noteForCrash keeps what is not in order, by code, for the report of a crash.
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
