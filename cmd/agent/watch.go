package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"sidetone/internal/control"
	"sidetone/internal/texts"
)

func watchCommand() *cobra.Command {
	return withJSON(askCommand(&cobra.Command{
		Use:   "watch",
		Short: "Follow the running agent, one line for each change",
		Long: `Prints what is plugged in, what is known about it and from where, and the sessions with clients. Then
prints a line for each change of these and of problems, until it is interrupted, its reader goes away, or the agent
stops. --json prints the whole status as one line of JSON for each change.

Exit code 1 if no agent runs, or when it stops.`,
	}, func(cmd *cobra.Command, _ []string, c *control.Client) error {
		ctx, cancel := context.WithCancel(cmd.Context())
		defer cancel()
		onReaderGone(os.Stdout, cancel)
		w := words{Texts: wordsFor(cmd)}
		var before control.Status
		var last string
		err := c.Watch(ctx, func(change control.Change) error {
			if wantsJSON(cmd) {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(change)
			}
			parts := control.Difference(w.Printer, before, change.Status)
			if clients := w.clients(change.Clients); clients != last {
				parts = append(parts, clients)
				last = clients
			}
			parts = append(parts, w.newConditions(before.Conditions, change.Conditions)...)
			before = change.Status
			if len(parts) == 0 {
				return nil
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s  %s\n", time.Now().Format("15:04:05.000"), printable(w.Join("join.phrases", parts)))
			return err
		})
		if ctx.Err() != nil {
			return nil // interrupted by the user, or the reader is gone
		}
		return err
	}))
}

// newConditions returns which conditions are new and which are over. Conditions that differ only in arguments, such as a time,
// count as the same.
func (w words) newConditions(before, after []control.Condition) (parts []string) {
	has := func(list []control.Condition, c control.Condition) bool {
		return slices.ContainsFunc(list, func(o control.Condition) bool { return o.Code == c.Code && o.Subject == c.Subject })
	}
	for _, c := range after {
		if !has(before, c) {
			message, _ := w.condition(c)
			parts = append(parts, w.after(w.Text("severity."+string(c.Severity), nil), message))
		}
	}
	for _, c := range before {
		if !has(after, c) {
			message, _ := w.condition(c)
			parts = append(parts, w.Text("cli.over", texts.Args{"message": message}))
		}
	}
	return parts
}

// clients summarises the state of all sessions.
func (w words) clients(c control.Clients) string {
	if len(c.Sessions) == 0 {
		return c.State
	}
	var parts []string
	for _, s := range c.Sessions {
		parts = append(parts, w.after(w.Client(s.Args()), s.State))
	}
	return w.Join("join.words", parts)
}
