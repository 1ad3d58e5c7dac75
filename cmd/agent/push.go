package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sidetone/internal/control"
	"sidetone/internal/devices"
	"sidetone/internal/strictyaml"
)

func pushCommand() *cobra.Command {
	var r control.PushRequest
	var ttl time.Duration
	cmd := askCommand(&cobra.Command{
		Use:   "push PRODUCT FLAG=true|false|clear...",
		Short: "Tell the running agent what only the vendor's software knows",
		Long: `Pushes the state of a product, as the vendor's own software does over the local API (docs/api.md).
It overrides every other source for the time of its lease. With --ttl 0 it holds for as long as this
command runs. In either case it ends earlier if the product is unplugged or switched off, or the
machine sleeps; then push it again.

  sidetone push acme-headset-700 hardware_mute=true noise_suppression=false --ttl 30s

Flags: hardware_mute, echo_cancellation, noise_suppression, automatic_gain_control.
Exit code 1 if no agent runs or it refuses.`,
		ValidArgsFunction: completeByAgent(pushArguments),
	}, func(cmd *cobra.Command, args []string, c *control.Client) error {
		var err error
		if r.State, err = parseState(args[1:]); err != nil {
			return badInput(err)
		}
		if ttl != 0 && (ttl < time.Millisecond || ttl > control.MaxLease) {
			return badInput(fmt.Errorf("--ttl %v: want 1ms to %v, or 0", ttl, control.MaxLease))
		}
		r.TTLms = ttl.Milliseconds()
		if ttl > 0 {
			answer, err := c.Push(cmd.Context(), args[0], r)
			if err == nil {
				fmt.Fprintln(cmd.OutOrStdout(), answerWords(answer, r.Serial))
			}
			return err
		}
		conn := c.PushConn()
		defer conn.Close()
		answer, err := conn.Push(cmd.Context(), args[0], r)
		if err != nil {
			return err
		}
		fmt.Fprintln(cmd.OutOrStdout(), answerWords(answer, r.Serial)+"; interrupt to take it back")
		select {
		case <-cmd.Context().Done():
			return nil
		case <-conn.Done():
			return control.ErrEnded
		}
	})
	cmd.Flags().StringVar(&r.Owner, "owner", "cli", "name of the software that pushes")
	cmd.Flags().StringVar(&r.Serial, "serial", "", "which unit, if several are plugged in")
	cmd.Flags().DurationVar(&ttl, "ttl", 30*time.Second, "lease; 0: as long as this command runs")
	return cmd
}

// parseState reads FLAG=true, FLAG=false and FLAG=clear.
func parseState(args []string) (map[devices.Field]*bool, error) {
	state := make(map[devices.Field]*bool)
	for _, arg := range args {
		name, value, _ := strings.Cut(arg, "=")
		field := devices.Field(name)
		if !slices.Contains(devices.Fields, field) {
			return nil, fmt.Errorf("unknown flag %q, %s", name, strictyaml.Suggest(name, field.Enum()))
		}
		if _, twice := state[field]; twice {
			return nil, fmt.Errorf("%s stands twice", name)
		}
		switch value {
		case "true", "false":
			on := value == "true"
			state[field] = &on
		case "clear":
			state[field] = nil
		default:
			return nil, fmt.Errorf("%q: want FLAG=true, FLAG=false or FLAG=clear", arg)
		}
	}
	return state, nil
}

func answerWords(a control.PushAnswer, serial string) string {
	switch {
	case a.Units > 0:
	case a.Left:
		return "not kept: the product has just left, or is switched off; push again when it is back"
	case len(a.OtherSerials) > 0:
		return fmt.Sprintf("kept: no such product with the serial number %q is plugged in; other serial numbers: %s",
			serial, strings.Join(a.OtherSerials, ", "))
	default:
		return "kept: the product is not plugged in"
	}
	has := "has"
	if a.Clients != 1 {
		has = "have"
	}
	words := fmt.Sprintf("in force with generation %d; %s %s it already", a.Generation, count(a.Clients, "client"), has)
	if !a.Until.IsZero() {
		words += "; it ends at " + a.Until.Local().Format(time.TimeOnly)
	}
	return words
}
