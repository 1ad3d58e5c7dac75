package world

import (
	"context"
	"slices"
	"time"

	"sidetone/internal/rpcclient"
)

// reporter is the product's Client while it runs.
type reporter struct {
	*rpcclient.Client
	stop func() // in order
}

// report starts to report as is set.
func (c *clients) report() *reporter {
	r := &reporter{Client: rpcclient.New(c.options())}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		r.Run(ctx)
		close(done)
	}()
	r.stop = func() {
		cancel()
		<-done
	}
	return r
}

// options are those of the product's defaults, but for the machine and what is set.
func (c *clients) options() rpcclient.Options {
	o := rpcclient.DefaultOptions
	o.ClientID, o.Ports, o.Jitter = application, searched, c.chance
	o.Local, o.DialPort = c.view, c.agent.DialPort
	o.AnswerTimeout += time.Duration(c.set.Timing) * time.Millisecond
	if c.set.OnExit != "" {
		o.OnExit = c.set.OnExit
	}
	o.Transports = slices.DeleteFunc(slices.Clone(rpcclient.DefaultTransports), func(t rpcclient.Transport) bool { return t == c.set.Without })
	if c.set.First {
		o.Clients = rpcclient.FirstClient
	}
	return o
}
