package main

import (
	"fmt"
	"io"
	"strings"

	"sidetone/fakeserver"
)

const consoleHelp = `commands:
  fault              show the active fault
  fault NAME[=ARG]   misbehave; "fault none" ends it
  drop               close all connections
  restart [PORT]     the client restarts, on the same or another port (0: any)
  stop               the client goes away
  resume [PORT]      the client comes back
  quit               end
faults, written [N*][websocket/|http/]NAME[=ARGUMENT]:
`

// A console changes a server by lines of text, and answers on out.
type console struct {
	srv *fakeserver.Server
	out io.Writer
}

// obey does what a line says. It reports false when that is to quit.
func (c console) obey(line string) bool {
	verb, arg, _ := strings.Cut(strings.TrimSpace(line), " ")
	arg = strings.TrimSpace(arg)
	var err error
	switch verb {
	case "":
	case "quit", "exit":
		return false
	case "help":
		fmt.Fprint(c.out, consoleHelp, fakeserver.FaultHelp())
	case "fault":
		err = c.fault(arg)
	case "drop":
		c.srv.DropConnections()
	case "restart":
		err = c.start(arg, c.srv.Restart)
	case "stop":
		c.srv.Stop()
		fmt.Fprintln(c.out, "stopped")
	case "resume":
		err = c.start(arg, c.srv.Resume)
	default:
		err = fmt.Errorf("unknown command %q, try help", verb)
	}
	if err != nil {
		fmt.Fprintln(c.out, err)
	}
	return true
}

func (c console) fault(arg string) error {
	if arg != "" {
		f, err := fakeserver.ParseFault(arg)
		if err != nil {
			return err
		}
		if err := c.srv.SetFault(f); err != nil {
			return err
		}
	}
	fmt.Fprintf(c.out, "fault %s\n", c.srv.Fault())
	return nil
}

func (c console) start(arg string, start func(...int) error) error {
	var ports []int
	if arg != "" {
		port, err := parsePort(arg)
		if err != nil {
			return err
		}
		ports = []int{port}
	}
	if err := start(ports...); err != nil {
		return err
	}
	fmt.Fprintf(c.out, "listening on 127.0.0.1:%d\n", c.srv.Port())
	return nil
}
