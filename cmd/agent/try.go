package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sidetone/internal/app"
	"sidetone/internal/local"
)

// tryRun shows that an agent would start with these settings, and prints whose it would be.
func tryRun(cmd *cobra.Command) error {
	hangs := time.AfterFunc(app.TryTimeout, func() {
		fmt.Fprintln(os.Stderr, programName()+": the agent does not start in", app.TryTimeout)
		os.Exit(exitFailed)
	})
	defer hangs.Stop()
	set, err := loadSettings(cmd)
	if err != nil {
		return err
	}
	endpoints, err := app.Try(cmd.Context(), set, host, logger(cmd.ErrOrStderr(), set.Config.Log, set.Config.Log.Level.Slog()))
	if err == nil {
		line(cmd.OutOrStdout(), "%s: %s", identityOf(set), count(endpoints, "endpoint"))
	}
	return err
}

// tryProgram has the program on disk show that it starts with the arguments of this process, as the same vendor's agent.
func tryProgram(ctx context.Context, program, identity string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, app.TryTimeout+time.Second, errors.New("it does not end"))
	defer cancel()
	says := &local.Tail{} // whatever else than an agent it is may say more than there is memory
	cmd := exec.CommandContext(ctx, program, append(slices.Clone(os.Args[1:]), "--try")...)
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = says, says, time.Second
	err := cmd.Run()
	last := says.LastLine()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil && last == "":
		return err
	case err != nil:
		return fmt.Errorf("%w: %.400s", err, last)
	case !strings.HasPrefix(last, identity+":"):
		return fmt.Errorf("it is for %.80q, and this agent for %s", last, identity)
	}
	return nil
}
