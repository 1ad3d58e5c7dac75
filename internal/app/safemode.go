package app

import (
	"fmt"
	"runtime"
	"strconv"
	"time"

	"sidetone/internal/crash"
	"sidetone/internal/health"
	"sidetone/internal/platform/paths"
)

// guardCrashes looks at how the agents before this one have ended. After several crashes in a row this one does without what
// talks to devices and to foreign code, so that it may live and say so.
func (a *App) guardCrashes() {
	if !a.opts.OwnProcess {
		return
	}
	folder, err := paths.StateFolder(a.opts.Host.Getenv, a.opts.Settings.Identity.ID)
	if err == nil {
		about := fmt.Sprintf("sidetone %s, %s, %s/%s", a.opts.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
		a.guard, err = crash.Open(folder, about)
	}
	if err != nil {
		a.log.Warn("a crash would leave no report", "reason", err)
		return
	}
	if a.safe = a.guard.Looping(time.Now()); a.safe {
		a.log.Error("safe mode: no HID devices, no writes to devices, no miniaudio", "reason", health.English.Phrase(safeMode))
	}
}

// safeMode is the condition of an agent that has crashed too often.
var safeMode = health.Condition{
	Code: health.AgentSafeMode, Severity: health.Problem, Args: health.Args{"crashes": strconv.Itoa(crash.Limit)},
}

// noteForCrash keeps what is not in order, by code, for the report of a crash.
func (a *App) noteForCrash(conditions []health.Condition) {
	if a.guard == nil {
		return
	}
	codes := []string{}
	for _, c := range conditions {
		codes = append(codes, string(c.Code))
	}
	a.guard.Note(codes)
}
