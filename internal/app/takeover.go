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
	"sidetone/internal/platform/ipc"
	"sidetone/internal/rpcclient"
)

const (
	// readyTimeout is how long the first list may take, beside the time for which one waits for sources that fail.
	readyTimeout = 30 * time.Second
	// quietTimeout is how long HID devices may take to answer what they are asked at the start. What they have not told by then is unknown.
	quietTimeout = 3 * time.Second
	// takeTimeout is how long a lock may still be held by an agent that has let go of it, or has just been killed.
	takeTimeout = 5 * time.Second
)

// takeOver goes on in place of the agent that runs, once this one knows what there is. On an error that one goes on, if it can.
func (a *App) takeOver(ctx context.Context) error {
	if err := a.awaitReady(ctx); err != nil {
		a.next.happens(onNotReady)
		return err
	}
	a.next.happens(onReady)
	address, err := a.opts.Settings.controlAddress(a.opts.Host)
	if err != nil {
		a.next.happens(onRefused)
		return err
	}
	before := clientOf(address).HandoverConn()
	defer before.Close()
	own := a.opts.Settings.Identity
	known, err := before.HandOver(ctx, control.HandoverRequest{Vendor: own.ID, ClientID: own.ClientID, Version: a.opts.Version})
	if err == nil {
		a.next.happens(onLetGo)
	} else if err = a.whyNot(ctx, err); err != nil {
		a.next.happens(onRefused)
		return err
	} else {
		a.next.happens(onGone)
	}
	if err = a.awaitLocks(ctx); err == nil {
		err = a.goOnWith(known)
	}
	if problem := (*control.Problem)(nil); err == nil && known.Inputs != nil && errors.As(before.HandedOver(ctx), &problem) {
		err = problem // else that agent has ended, and nobody else has the locks
	}
	if err != nil {
		a.next.happens(onTooLate)
		return err
	}
	a.guardCrashes()
	return nil
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

// whyNot says why the agent that runs does not let go; nil: it does not run any more.
func (a *App) whyNot(ctx context.Context, err error) error {
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

// awaitLocks takes what the other agent has let go.
func (a *App) awaitLocks(ctx context.Context) error {
	limit := time.Now().Add(takeTimeout)
	tick := time.NewTicker(lockInterval)
	defer tick.Stop()
	for {
		err := a.takeLocks()
		if !errors.As(err, new(*ipc.ErrRunning)) || time.Now().After(limit) {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// goOnWith makes known here what the other agent has known.
func (a *App) goOnWith(known control.Handover) error {
	var inputs []engine.Input
	var clients []rpcclient.Learnt
	if known.Inputs == nil {
		return nil
	}
	if err := errors.Join(json.Unmarshal(known.Inputs, &inputs), json.Unmarshal(known.Clients, &clients)); err != nil {
		return fmt.Errorf("what the agent that ran knows cannot be read: %w; stop it first", err)
	}
	a.engine.GoOn(inputs)
	a.report.Recall(clients)
	return nil
}
