package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"sidetone/internal/control"
	"sidetone/internal/engine"
	"sidetone/internal/platform/power"
	"sidetone/internal/rpcclient"
	"sidetone/internal/signal"
)

const (
	// readyTimeout is how long the first list may take, in addition to the time that sources which fail are given.
	readyTimeout = 30 * time.Second
	// quietTimeout is how long HID devices may take to answer what they are asked at the start. The rest is unknown then.
	quietTimeout = 3 * time.Second
	// takeTimeout is how long a lock may still be held by an agent that has let go of it, or whose process has just been killed.
	takeTimeout = 5 * time.Second
)

// takeOver takes over from the agent that runs, once this one knows what there is. After an error, of which the outcome is the kind, that
// agent goes on, if it can.
func (a *App) takeOver(ctx context.Context) (outcome, error) {
	if err := a.awaitReady(ctx); err != nil {
		return onNotReady, err
	}
	a.handover.apply(onReady)
	address, err := a.opts.Settings.controlAddress(a.opts.Host)
	if err != nil {
		return onRefused, err
	}
	before := clientOf(address).HandoverConn()
	defer before.Close()
	history, historyErr := clientOf(address).Timeline(ctx)
	own := a.opts.Settings.Identity
	known, err := before.HandOver(ctx, control.HandoverRequest{
		Form: control.HandoverForm, Vendor: own.ID, ClientID: own.ClientID, Version: a.opts.Version,
	})
	if err == nil {
		a.handover.apply(onLetGo)
	} else {
		neverThere := errors.Is(err, control.ErrNotRunning)
		if err = a.handoverRefusal(ctx, err); err != nil {
			return onRefused, err
		}
		a.handover.apply(onGone)
		if neverThere { // it may have let go for a third agent
			_ = signal.Sleep(ctx, giveWayTime)
		}
	}
	if err = a.awaitLocks(ctx, takeTimeout); err == nil {
		err = a.applyHandover(known)
	}
	if err == nil {
		err = ctx.Err() // told to stop: the other one goes on, and no client has noticed anything
	}
	if err == nil && known.Inputs != nil {
		err = confirm(ctx, before)
	}
	if err != nil {
		return onTooLate, err
	}
	a.guardCrashes()
	if historyErr == nil {
		a.timeline.Continue(history)
		a.timeline.Snapshot(a.engine.View().Snapshot)
	}
	return onTaken, nil
}

// confirm ends the other agent. From then on it is this agent that tells clients everything, even of its own end, so ctx does not stop it
// halfway.
func confirm(ctx context.Context, before control.HandoverConn) error {
	if problem := (*control.Problem)(nil); errors.As(before.HandedOver(context.WithoutCancel(ctx)), &problem) {
		return problem
	}
	return nil // any other error means that the agent has ended or hangs, and it has given up the locks
}

// awaitReady waits until there is a first list, and HID devices have answered.
func (a *App) awaitReady(ctx context.Context) error {
	limit := time.Now().Add(readyTimeout + a.opts.Settings.Config.Engine.StaleAfter)
	var listed time.Time
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		published, quiet := a.engine.Settled()
		if published && listed.IsZero() {
			listed = time.Now()
		}
		switch now := time.Now(); {
		case quiet, published && now.Sub(listed) > quietTimeout:
			return nil
		case now.After(limit):
			return fmt.Errorf("not ready after %s, as not all sources have answered: the agent that runs goes on", readyTimeout)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// handoverRefusal says why the agent that runs does not let go; nil: it no longer runs.
func (a *App) handoverRefusal(ctx context.Context, err error) error {
	var problem *control.Problem
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &problem) && problem.Status == http.StatusNotFound:
		return errors.New("the agent that runs is of a version that cannot hand over: stop it first, as with 'sidetone stop'")
	case errors.As(err, &problem), errors.Is(err, control.ErrSilent):
		return fmt.Errorf("the agent that runs goes on: %w", err)
	}
	a.log.Warn("the agent that ran has ended: what it alone knew is lost", "reason", err)
	return nil
}

// applyHandover takes over what the other agent knew.
func (a *App) applyHandover(known control.Handover) error {
	var inputs []engine.Input
	var clients []rpcclient.KnownClient
	if known.Inputs == nil {
		return nil
	}
	err := errors.Join(json.Unmarshal(known.Inputs, &inputs), json.Unmarshal(known.Clients, &clients))
	if known.Form > control.HandoverForm {
		err = fmt.Errorf("its form is %d, and this one reads %d", known.Form, control.HandoverForm)
	}
	if err != nil {
		return fmt.Errorf("what the agent that ran knows cannot be read: %w; stop it first", err)
	}
	age := power.Uptime() - time.Duration(known.UptimeMS)*time.Millisecond
	if known.UptimeMS == 0 {
		age = 0
	}
	a.pauseKept = true // the other agent may have written the file since this one looked
	a.engine.ApplyHandover(inputs, max(0, age))
	a.report.Restore(clients, max(0, age))
	if known.LogLevel != "" && a.current().Policy(logLevel) == "" {
		return a.SetLogLevel(known.LogLevel)
	}
	return nil
}
