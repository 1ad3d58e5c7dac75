package world

import (
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"sync"
	"time"

	"sidetone/fakeserver"
	"sidetone/internal/devices"
	"sidetone/internal/rpcclient"
	"sidetone/internal/rpcclient/policy"
)

// options returns the product's defaults with the settings of the scenario.
func (c *clients) options() rpcclient.Options {
	o := rpcclient.DefaultOptions
	o.ClientID, o.Ports, o.Jitter = clientID, searched, c.chance
	o.Local, o.DialPort, o.Memory = c.view, c.agent.DialPort, &c.memory
	o.Log, o.OnDelivery = c.log, func(d rpcclient.Delivery) { c.log.Info("reported", "to", d.To, "devices", len(d.Snapshot.Devices)) }
	o.AnswerTimeout += time.Duration(c.set.Timing) * time.Millisecond
	if c.set.OnExit != "" {
		o.OnExit = c.set.OnExit
	}
	o.Transports = slices.DeleteFunc(slices.Clone(policy.Transports), func(t rpcclient.Transport) bool { return t == c.set.Without })
	if c.set.First {
		o.Clients = rpcclient.FirstClient
	}
	return o
}

// publish reports a list of the Engine to the clients, if there are any.
func (c *clients) publish(s devices.Snapshot) {
	if len(c.all) == 0 {
		return
	}
	c.mu.Lock()
	c.history = append(c.history, canonical(received(text(s.Wire()))))
	c.last, c.published = &s, time.Now()
	c.mu.Unlock()
	if c.reporter != nil {
		c.reporter.Publish(s)
	}
}

// startAgent starts reporting, as a new process of the agent.
func (c *clients) startAgent() {
	if c.reporter != nil || len(c.all) == 0 {
		return
	}
	c.mu.Lock()
	c.leaving, c.reloaded = false, false
	for _, k := range c.all {
		if k.linkedSince, k.lastTaken = (time.Time{}), -1; c.endAgent != nil { // there was an agent before
			k.spentAt = time.Now()
		}
	}
	if len(c.history) > 0 {
		c.history = c.history[len(c.history)-1:]
	}
	c.mu.Unlock()
	c.report(nil)
}

// report starts a client with what another agent knows of the programs, and publishes the last list.
func (c *clients) report(known []rpcclient.KnownClient) {
	c.reporter = rpcclient.New(c.options())
	c.reporter.Restore(known, 0)
	c.endAgent = inBackground(c.reporter.Run)
	c.mu.Lock()
	last := c.last
	for _, k := range c.all {
		if !c.set.Visibility.ports() { // nothing shows that it is still the same program
			delete(k.answered, fakeserver.HTTP)
		}
	}
	c.mu.Unlock()
	if last != nil {
		c.reporter.Publish(*last)
	}
}

// resend sends all lists again, as after a sleep. Who has not answered yet is connected to anew.
func (c *clients) resend() {
	for _, k := range c.all {
		if time.Now().Before(k.answersAt) {
			k.disturbed()
		}
	}
	if c.reporter != nil {
		c.reporter.Resend()
	}
}

// leave ends the sessions for a handover to another agent, which starts its own with goOn; nil: it would have to wait. Meanwhile the wall
// clock is set by clock. during calls what waits for clients, and may let other things happen.
func (c *clients) leave(clock time.Duration, during func(func())) (goOn func()) {
	if c.reporter == nil {
		return func() {}
	}
	if wait, slow := c.reporter.HandoverDelay(); wait > 0 || slow != nil {
		return nil
	}
	for _, k := range c.all {
		if time.Since(k.spentAt) < longFreeze || k.Unspecified { // the next agent may have to wait in its queue
			k.disturbed()
		}
	}
	c.setReplacing(true)
	during(func() { c.endAgent(rpcclient.ErrHandover) })
	var known []rpcclient.KnownClient
	text, err := json.Marshal(c.reporter.KnownClients())
	if err = errors.Join(err, json.Unmarshal(clockSet(text, clock), &known)); err != nil {
		c.violate("handed over", "%v", err)
	}
	c.reporter = nil
	return func() {
		c.setReplacing(false)
		c.report(known)
	}
}

// memory is a file of the agent.
type memory struct {
	mu   sync.Mutex
	text []byte
}

func (m *memory) Read() ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.text == nil {
		return nil, fs.ErrNotExist
	}
	return m.text, nil
}

func (m *memory) Write(text []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.text = slices.Clone(text)
	return nil
}

func (c *clients) setReplacing(is bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.replacing = is
}

// restart starts reporting as a new process of the agent that has no list yet.
func (c *clients) restart() {
	c.mu.Lock()
	c.history, c.last = nil, nil
	c.mu.Unlock()
	c.startAgent()
}

func (c *clients) configure(set clientSettings) {
	set.Visibility = c.set.Visibility
	if set.First != c.set.First {
		for _, k := range c.all {
			k.disturbed()
		}
	}
	c.set = set
	c.mu.Lock()
	c.reloaded = true
	c.mu.Unlock()
	if c.reporter != nil {
		c.reporter.Reconfigure(c.options())
	}
}

// stopAgent ends the agent in order, and checks what it leaves in the clients.
func (c *clients) stopAgent() {
	if c.reporter == nil {
		return
	}
	type left struct {
		k     *client
		held  string
		waits bool
	}
	var reached []left
	c.mu.Lock()
	c.leaving = true
	for _, k := range c.all {
		if k.isReached() {
			reached = append(reached, left{k, k.list(), k.waits()})
		}
		for _, list := range c.history {
			if k.frozen {
				k.queued = append(k.queued, list, unmuted(list))
			}
		}
	}
	c.mu.Unlock()
	c.endAgent(nil)
	c.reporter = nil
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range reached {
		want, policy := canonical(nil), c.set.OnExit
		switch policy {
		case rpcclient.ExitLeave:
			want = l.held
		case rpcclient.ExitUnmute:
			want = unmuted(c.newest())
		}
		if time.Since(c.published) < prompt && policy != rpcclient.ExitClear && policy != "" {
			continue // the last list may have been on its way
		}
		got := l.k.list()
		if l.k.refuses(received(c.newest())) != "" && policy != rpcclient.ExitLeave && got == unmuted(got) {
			continue // it has another one, without mutes
		}
		if got != want {
			l.k.violateSince(l.waits, "farewell", "was left with %s, on_exit is %q", got, policy)
		}
	}
}
