package rpcclient

import (
	"reflect"
	"slices"
	"time"
)

// Reconfigure puts other options into force, before Run or while it runs. The newest count. Sessions
// go on: what concerns times and pace holds from the next message on; a transport, a port or a
// folder that is left out is given up once there is another link to the same client or, where there
// is none, after the client was told as OnExit says. Another ClientID begins all over.
func (c *Client) Reconfigure(opts Options) {
	opts = opts.withDefaults()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.newOptions = &opts
	c.attemptChanged.Notify()
}

// reconfigure puts the options into force that Reconfigure was given. It reports whether sockets are to be watched anew.
func (c *Client) reconfigure() (watch bool) {
	var now *Options
	c.locked(func() { now, c.newOptions = c.newOptions, nil })
	if now == nil {
		return false
	}
	was := c.opts()
	watch = !sameLocal(now.Local, was.Local) || !slices.Equal(now.Transports, was.Transports)
	reach := watch || !slices.Equal(now.Ports, was.Ports) || now.Origin != was.Origin
	for _, p := range c.peers {
		p.bucket.configure(now.Tokens, now.TokenEvery)
		switch {
		case now.ClientID != was.ClientID:
			c.restartAs(p)
		case reach:
			c.forgetRefusals(p)
			c.applyOutcome(p, onNewChance)
			if p.attempt != nil {
				p.attempt.reconsider()
			}
		}
	}
	c.options.Store(now)
	c.searchBackoff = now.backoff(retryFirst, now.RetryMax)
	for _, p := range c.peers {
		if p.attempt == nil {
			c.setBackoffs(p)
		}
	}
	if reach {
		clear(c.unreachable)
		c.unlisted.due = time.Time{}
		c.restartSearch()
	}
	c.locked(c.notifyAll) // who waits may go on
	return watch
}

// reconsider has r look for a better link at once, whatever came of the tries before.
func (r *attempt) reconsider() {
	r.settingsChanged, r.nextUpgrade = true, time.Time{}
	r.upgradeBackoff.reset()
	if r.upgrade != nil {
		r.upgrade.outdated = true
	}
}

// sameLocal reports whether both look at the same folders. Those that cannot be compared differ.
func sameLocal(a, b Local) bool {
	return reflect.TypeOf(a) == reflect.TypeOf(b) && reflect.TypeOf(a).Comparable() && a == b
}

// restartAs ends what p was told in the name of another application, whose tokens are others.
func (c *Client) restartAs(p *peer) {
	if p.attempt != nil {
		p.attempt.exclude()
	}
	p.bucket.setFull(time.Time{})
	c.forgetRefusals(p)
	c.applyOutcome(p, onNewChance)
}

// resendWhenDue sends the lists again where that is wanted from time to time: another application that
// reports the same id takes the entry along when it goes (rule R90).
func (c *Client) resendWhenDue() {
	every, now := c.opts().ResendEvery, time.Now()
	switch {
	case every <= 0 || !c.connected():
		c.nextResend = time.Time{}
	case c.nextResend.IsZero() || c.nextResend.After(now.Add(every)):
		c.nextResend = now.Add(every)
	case !c.nextResend.After(now):
		c.nextResend = now.Add(every)
		c.resendOthers(nil)
	}
}
