package rpcclient

import (
	"reflect"
	"slices"
	"time"
)

// Reconfigure changes the options, before Run or while it runs. The last call wins. Sessions go on:
// times and pace apply from the next message on. A transport, port or folder that is no longer allowed
// is given up once there is another link to the same client or, if there can be none, after the farewell.
// Another ClientID ends all sessions with a farewell, and starts new ones.
func (c *Client) Reconfigure(opts Options) {
	opts = opts.withDefaults()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.newOptions = &opts
	c.attemptChanged.Notify()
}

// reconfigure applies the options given to Reconfigure. It reports whether sockets have to be watched anew.
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
		p.bucket.Configure(now.Tokens, now.TokenEvery)
		switch {
		case now.ClientID != was.ClientID:
			c.restart(p)
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
	c.locked(c.notifyAll) // attempts that wait may go on
	return watch
}

// reconsider makes r look for a better link at once, however earlier tries ended.
func (r *attempt) reconsider() {
	r.settingsChanged, r.nextUpgrade = true, time.Time{}
	r.upgradeBackoff.Reset()
	if r.upgrade != nil {
		r.upgrade.outdated = true
	}
}

// sameLocal reports whether both look at the same folders. Values that cannot be compared count as different.
func sameLocal(a, b Local) bool {
	return reflect.TypeOf(a).Comparable() && a == b
}

// restart ends the session with p for a change of the client id. The new one has tokens of its own.
func (c *Client) restart(p *peer) {
	if p.attempt != nil {
		p.attempt.exclude()
	}
	p.bucket.SetFull(time.Time{})
	c.forgetRefusals(p)
	c.applyOutcome(p, onNewChance)
}

// resendWhenDue sends the list again every Options.ResendEvery: another application that reports the
// same id removes the client's entry when it goes (rule R90).
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
