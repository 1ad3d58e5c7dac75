// Command fakeserver stands in for the local RPC server of the Discord client:
// it shows what a device agent reports, and misbehaves on demand.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// A usageError is a mistake in the command line.
type usageError struct{ error }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// When nobody reads stdout or stderr any more, writing fails. Unless somebody is notified, it
	// would end the program at once, and leave its sockets and the programs of a scenario behind.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	code := execute(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// execute runs the command line and returns the exit code.
func execute(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	cmd := newCommand(stdin, stdout, stderr)
	help := &helpWriter{Writer: stdout}
	cmd.SetArgs(args)
	cmd.SetOut(help)
	cmd.SetErr(stderr)
	err := cmp.Or(cmd.ExecuteContext(ctx), help.err)
	if err == nil {
		return exitOK
	}
	fmt.Fprintf(stderr, "fakeserver: %v\n", err)
	if errors.As(err, &usageError{}) {
		return exitUsage
	}
	return exitFailed
}

// A helpWriter keeps the error of printing the help, which cobra ignores.
type helpWriter struct {
	io.Writer
	err error
}

func (w *helpWriter) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	w.err = cmp.Or(w.err, cannotPrint(err))
	return n, err
}

// cannotPrint wraps an error of writing to stdout.
func cannotPrint(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("cannot print to stdout: %w", err)
}
