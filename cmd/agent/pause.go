package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"sidetone/internal/control"
)

func pauseCommand() *cobra.Command {
	var length time.Duration
	cmd := askCommand(&cobra.Command{
		Use:   "pause",
		Short: "Pause reporting to clients for a while",
		Long: `Clients get an empty list, or with the setting pause.list the devices without their mute, until
'sidetone resume', or until the time of --for is over. 'sidetone status' still shows what is known,
and says that reporting is paused. Restarting the agent does not end a pause.

Exit code 1 if no agent runs, or if the pause cannot be stored for its next start: then nothing is paused.`,
	}, func(cmd *cobra.Command, _ []string, c *control.Client) error {
		if length != 0 && (length < time.Millisecond || length > control.MaxPause) {
			return badInput(fmt.Errorf("--for %v: want 1ms to %v", length, control.MaxPause))
		}
		p, err := c.Pause(cmd.Context(), control.PauseRequest{ForMS: length.Milliseconds()})
		if err == nil {
			fmt.Fprintln(cmd.OutOrStdout(), words{Texts: wordsFor(cmd)}.pause(p))
		}
		return err
	})
	cmd.Flags().DurationVar(&length, "for", 0, "how long, such as 1h; 0: until 'sidetone resume'")
	return cmd
}

func resumeCommand() *cobra.Command {
	return askCommand(&cobra.Command{
		Use:   "resume",
		Short: "End the pause of the running agent",
		Long: `Makes the agent report to clients again. Does nothing if it is not paused.

Exit code 1 if no agent runs.`,
	}, func(cmd *cobra.Command, _ []string, c *control.Client) error { return c.Resume(cmd.Context()) })
}
