// Package page shows fake clients live in a browser: what a user of the real
// client would see of the certified devices, what was received and why it was
// refused, and a button for each fault.
//
//	p, err := page.Start("127.0.0.1:0", srv)
//	...
//	defer p.Close()
//	fmt.Println(p.URL())
//
// The page names devices and can make the fake client misbehave. So it is only
// served to this machine, and only to requests that use its own address, and its
// buttons only work from the page itself.
//
// An idle page does nothing: no timers, no polling, no traffic.
package page

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"sidetone/fakeserver"
	"sidetone/internal/signal"
)

const (
	headerTimeout = 10 * time.Second // for the head of a request
	readTimeout   = 10 * time.Second // for a whole request
	writeTimeout  = 30 * time.Second // for an answer, and for each message of a stream
	idleTimeout   = 2 * time.Minute  // between two requests of a kept connection
)

// A Page shows fake clients to browsers.
type Page struct {
	host    string // as in the browser's address: 127.0.0.1:8080
	token   string // proves that a POST comes from the page itself
	start   string // identifies this start of the page
	index   []byte
	faults  []faultView
	screens []*screen
	changed signal.Broadcast // of any screen

	http *http.Server
	end  context.CancelFunc
	wg   sync.WaitGroup // every goroutine of the page
}

// CheckAddr says what is wrong with an address for [Start]: it has to be a loopback IP address
// with a port, such as 127.0.0.1:8080 or [::1]:0.
func CheckAddr(addr string) error {
	a, err := netip.ParseAddrPort(addr)
	if err != nil {
		return fmt.Errorf("page address %q: want an IP address and a port, such as 127.0.0.1:8080", addr)
	}
	if !a.Addr().IsLoopback() || a.Addr().Zone() != "" {
		return fmt.Errorf("page address %q: not a loopback address; the page shows device names and controls the client, use 127.0.0.1:%d",
			addr, a.Port())
	}
	return nil
}

// Start serves the page of the clients on a loopback address; port 0 is any free port. The page
// does not own the clients, which may be closed before or after it. The error says what is
// wrong with the address, or why it cannot be opened.
func Start(addr string, clients ...*fakeserver.Server) (*Page, error) {
	if err := CheckAddr(addr); err != nil {
		return nil, err
	}
	if len(clients) == 0 {
		return nil, errors.New("page: no client to show")
	}
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("page: cannot open %s, another program may hold it: %w", addr, err)
	}
	ctx, end := context.WithCancel(context.Background())
	p := &Page{
		host:   strings.TrimSuffix(ln.Addr().String(), ":80"), // browsers leave out the default port
		token:  rand.Text(),
		start:  rand.Text(),
		faults: faultViews(fakeserver.FaultHelp()),
		end:    end,
	}
	var page bytes.Buffer
	_ = index.Execute(&page, struct{ Token, Start string }{p.token, p.start}) // two strings: cannot fail
	p.index = page.Bytes()
	for i, srv := range clients {
		s := &screen{srv: srv, name: nameOf(srv, i, len(clients))}
		s.update()
		p.screens = append(p.screens, s)
		p.wg.Go(func() { p.follow(ctx, s) })
	}
	p.http = &http.Server{
		Handler:           p.guard(p.routes()),
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    32 << 10,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ConnState:         p.track,
	}
	p.wg.Go(func() { _ = p.http.Serve(ln) })
	return p, nil
}

// URL is the address to open in a browser.
func (p *Page) URL() string { return "http://" + p.host + "/" }

// Close closes the port and all connections and waits until every goroutine of the page has
// ended. The clients go on. It always returns nil and may be called twice.
func (p *Page) Close() error {
	p.end()
	_ = p.http.Close()
	p.wg.Wait()
	return nil
}

// track counts net/http's goroutine of each connection.
func (p *Page) track(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		p.wg.Add(1)
	case http.StateClosed, http.StateHijacked:
		p.wg.Done()
	}
}

// follow keeps a screen up to date until the page ends.
func (p *Page) follow(ctx context.Context, s *screen) {
	for {
		changed := s.srv.Changed()
		s.update()
		p.changed.Notify()
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}
