package main

import (
	"encoding/json"
	"fmt"
	"io"
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
		Long: `Prints what is now, then a line for each change of a product, a flag or a session with a client,
until it is interrupted or the agent stops. --json prints the whole status as one line of JSON for
each change.

Exit code 1 if no agent runs, or when it stops.`,
		Args: noArgs,
	}, func(cmd *cobra.Command, _ []string, c *control.Client) error {
		last := ""
		return c.Watch(cmd.Context(), func(change control.Change) error {
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(change)
			}
			clients := clientWords(change.Clients)
			if change.What == "" && clients == last {
				return nil
			}
			last = clients
			return printChange(cmd.OutOrStdout(), change, clients, time.Now())
		})
	})
	jsonFlag(cmd, &asJSON)
	return cmd
}

func printChange(w io.Writer, change control.Change, clients string, now time.Time) error {
	what := change.What
	if what == "" {
		what = fmt.Sprintf("generation %d, %d products", change.Generation, len(change.Products))
	}
	_, err := fmt.Fprintf(w, "%s  %s  [%s]\n", now.Format("15:04:05.000"), printable(what), printable(clients))
	return err
}

// clientWords is the state of all sessions in short.
func clientWords(c control.Clients) string {
	if len(c.Sessions) == 0 {
		return c.State
	}
	var parts []string
	for _, s := range c.Sessions {
		parts = append(parts, fmt.Sprintf("%s: %s", peerWords(s), s.State))
	}
	return strings.Join(parts, ", ")
}
