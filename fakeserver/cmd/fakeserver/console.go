package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"sidetone/fakeserver"
)

const consoleHelp = `commands, for all servers or, as in "@PTB restart", for the one of that name:
  fault              show the active fault
  fault NAME[=ARG]   misbehave; "fault none" ends it
  drop               close all connections
  freeze             do nothing at all, as a process that was stopped by the system
  thaw               go on
  restart [PORT]     the client restarts, on the same or another port (0: any)
  stop               the client goes away
  resume [PORT]      the client comes back
  quit               end
faults, written [N*][websocket/|http/|ipc/]NAME[=ARGUMENT]:
`

// A console executes commands from lines of text, and answers on out.
type console struct {
	servers []*fakeserver.Server
	out     io.Writer
}

// execute executes a line. It reports false if the line says to quit.
func (c console) execute(line string) bool {
	servers, line, err := c.addressed(strings.TrimSpace(line))
	if err != nil {
		fmt.Fprintln(c.out, err)
		return true
	}
	verb, arg, _ := strings.Cut(line, " ")
	arg = strings.TrimSpace(arg)
	switch verb {
	case "":
		return true
	case "quit", "exit":
		return false
	case "help":
		fmt.Fprint(c.out, consoleHelp, fakeserver.FaultHelp())
		return true
	}
	for _, srv := range servers {
		answer, err := do(srv, verb, arg, len(servers) > 1)
		switch {
		case errors.As(err, &usageError{}): // the same for all
			fmt.Fprintln(c.out, err)
			return true
		case err != nil:
			fmt.Fprintln(c.out, label(srv)+err.Error())
		case answer != "":
			fmt.Fprintln(c.out, label(srv)+answer)
		}
	}
	return true
}

// addressed returns the servers that a line is for, and the rest of the line.
func (c console) addressed(line string) ([]*fakeserver.Server, string, error) {
	address, isOne := strings.CutPrefix(line, "@")
	if !isOne {
		return c.servers, line, nil
	}
	name, rest, _ := strings.Cut(address, " ")
	var names []string
	for _, srv := range c.servers {
		if srv.Name() != "" && strings.EqualFold(srv.Name(), name) {
			return []*fakeserver.Server{srv}, strings.TrimSpace(rest), nil
		}
		if srv.Name() != "" {
			names = append(names, "@"+srv.Name())
		}
	}
	if len(names) == 0 {
		return nil, "", fmt.Errorf("no server is named %q, there is one without a name", name)
	}
	return nil, "", fmt.Errorf("no server is named %q, want one of %s", name, strings.Join(names, ", "))
}

// label is the prefix of what is printed about a server that has a name.
func label(srv *fakeserver.Server) string {
	if srv.Name() == "" {
		return ""
	}
	return srv.Name() + ": "
}

// do executes one command and returns what to print. A usageError is a mistake in the line
// itself.
func do(srv *fakeserver.Server, verb, arg string, oneOfSeveral bool) (string, error) {
	switch verb {
	case "fault":
		return fault(srv, arg)
	case "drop":
		srv.DropConnections()
		return "", nil
	case "freeze":
		srv.Freeze()
		return "frozen", nil
	case "thaw":
		srv.Thaw()
		return "thawed", nil
	case "restart":
		return start(srv, arg, oneOfSeveral, srv.Restart)
	case "stop":
		srv.Stop()
		return "stopped", nil
	case "resume":
		return start(srv, arg, oneOfSeveral, srv.Resume)
	}
	return "", usageError{fmt.Errorf("unknown command %q, try help", verb)}
}

func fault(srv *fakeserver.Server, arg string) (string, error) {
	if arg != "" {
		f, err := fakeserver.ParseFault(arg)
		if err != nil {
			return "", usageError{err}
		}
		if err := srv.SetFault(f); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("fault %s", srv.Fault()), nil
}

func start(srv *fakeserver.Server, arg string, oneOfSeveral bool, start func(...int) error) (string, error) {
	var ports []int
	if arg != "" {
		port, err := parsePort(arg)
		switch {
		case err != nil:
			return "", usageError{err}
		case oneOfSeveral && port != 0:
			return "", usageError{fmt.Errorf("only one server can have port %d, say which: @%s", port, srv.Name())}
		}
		ports = []int{port}
	}
	if err := start(ports...); err != nil {
		return "", err
	}
	return "listening on " + srv.Address(), nil
}
