package world

import (
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
		k.linkedSince, k.lastTaken = time.Time{}, -1
		if !c.set.Visibility.ports() { // nothing shows that it is still the same program
			delete(k.answered, fakeserver.HTTP)
		}
	}
	if len(c.history) > 0 {
		c.history = c.history[len(c.history)-1:]
	}
	c.mu.Unlock()
	c.reporter = rpcclient.New(c.options())
	c.endAgent = inBackground(c.reporter.Run)
	if c.last != nil {
		c.reporter.Publish(*c.last)
	}
}

// resend sends all lists again, as after a sleep. Who has not answered yet is connected to anew, also one that has left its first list
// without an answer or is frozen before it takes one.
func (c *clients) resend() {
	for _, k := range c.all {
		if time.Now().Before(k.answersAt) || k.owesFirstAnswer() {
			k.disturbed()
		}
	}
	if c.reporter != nil {
		c.reporter.Resend()
	}
}

// owesFirstAnswer reports whether it has a socket, over which it has answered nothing since its start.
func (k *client) owesFirstAnswer() bool {
	k.desk.mu.Lock()
	defer k.desk.mu.Unlock()
	return k.on && !k.NoSocket && !k.answered[fakeserver.IPC]
}

// connectDelay returns how long to wait until clients have room for another connection.
func (c *clients) connectDelay() time.Duration {
	if c.reporter == nil {
		return 0
	}
	return c.reporter.ConnectDelay()
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

// setClock makes the file look as if the clock on the wall had been set since. That of the bubble itself cannot be set.
func (m *memory) setClock(by time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.text != nil {
		m.text = clockSet(m.text, by)
	}
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

// stopAgent ends the agent in order, and checks what it leaves in the clients: as on_exit has it, unless it is to make way for another one.
func (c *clients) stopAgent(leave rpcclient.ExitPolicy) {
	if c.reporter == nil {
		return
	}
	policy := c.set.OnExit
	if leave != "" {
		policy = leave
		c.reporter.LeaveWith(leave)
	}
	type left struct {
		k    *client
		held string
	}
	var reached []left
	c.mu.Lock()
	c.leaving = true
	for _, k := range c.all {
		if k.isReached() {
			reached = append(reached, left{k, k.list()})
		}
		if !k.frozen {
			continue
		}
		k.queued = append(k.queued, canonical(nil))
		for _, list := range c.history {
			k.queued = append(k.queued, list, unmuted(list))
		}
	}
	c.mu.Unlock()
	c.endAgent()
	c.reporter = nil
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range reached {
		want := canonical(nil)
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
			l.k.violate("farewell", "was left with %s, on_exit is %q", got, policy)
		}
	}
}
