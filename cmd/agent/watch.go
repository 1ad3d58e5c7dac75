package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sidetone/internal/control"
)

func watchCommand() *cobra.Command {
	var asJSON bool
	cmd := askCommand(&cobra.Command{
		Use:   "watch",
		Short: "Follow the running agent, one line for each change",
		Long: `Prints what is plugged in, what is known of it and from where, and the sessions with clients; then
a line for each change of these and of what is not in order, until it is interrupted, nobody reads it any more, or the agent
stops. --json prints the whole status as one line of JSON for each change.

Exit code 1 if no agent runs, or when it stops.`,
		Args: noArgs,
	}, func(cmd *cobra.Command, _ []string, c *control.Client) error {
		ctx, cancel := context.WithCancel(cmd.Context())
		defer cancel()
		whenUnread(os.Stdout, cancel)
		first, last := true, ""
		var known []control.Condition
		err := c.Watch(ctx, func(change control.Change) error {
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(change)
			}
			if first {
				change.What = control.Difference(control.Status{}, change.Status)
				first = false
			}
			var parts []string
			if change.What != "" {
				parts = append(parts, change.What)
			}
			if clients := clientWords(change.Clients); clients != last {
				parts = append(parts, clients)
				last = clients
			}
			parts = append(parts, newConditions(known, change.Conditions)...)
			known = change.Conditions
			if len(parts) == 0 {
				return nil
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s  %s\n", time.Now().Format("15:04:05.000"), printable(strings.Join(parts, "; ")))
			return err
		})
		if ctx.Err() != nil {
			return nil // somebody, or the end of the reader, has ended it
		}
		return err
	})
	jsonFlag(cmd, &asJSON)
	return cmd
}

// newConditions says what has come up and what is over. One whose arguments alone are others, such as a time, is the same.
func newConditions(before, after []control.Condition) (parts []string) {
	has := func(list []control.Condition, c control.Condition) bool {
		return slices.ContainsFunc(list, func(o control.Condition) bool { return o.Code == c.Code && o.Subject == c.Subject })
	}
	for _, c := range after {
		if !has(before, c) {
			parts = append(parts, fmt.Sprintf("%s: %s", c.Severity, c.Message))
		}
	}
	for _, c := range before {
		if !has(after, c) {
			parts = append(parts, "over: "+c.Message)
		}
	}
	return parts
}

// clientWords is the state of all sessions in short.
func clientWords(c control.Clients) string {
	if len(c.Sessions) == 0 {
		return c.State
	}
	var parts []string
	for _, s := range c.Sessions {
		parts = append(parts, fmt.Sprintf("%s: %s", s.Client(), s.State))
	}
	return strings.Join(parts, ", ")
}
