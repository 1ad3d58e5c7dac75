package main

import (
	"fmt"
	"io"

	"sidetone/fakeserver"
	"sidetone/fakeserver/page"
)

const pageHelp = "show a live page of the client on this loopback `address`, such as 127.0.0.1:8080; port 0 is any free port (default none)"

// openPage starts the live page, if one is wanted, and says where it is. The
// function it returns closes it.
func openPage(addr string, servers []*fakeserver.Server, out io.Writer) (end func(), err error) {
	if addr == "" {
		return func() {}, nil
	}
	p, err := page.Start(addr, servers...)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(out, "page at %s\n", p.URL())
	return func() { _ = p.Close() }, nil
}

// checkPage says what is wrong with an address for the page; none is fine.
func checkPage(addr string) error {
	if addr == "" {
		return nil
	}
	if err := page.CheckAddr(addr); err != nil {
		return fmt.Errorf("--page: %w", err)
	}
	return nil
}
