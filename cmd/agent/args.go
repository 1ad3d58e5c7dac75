package main

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sidetone/internal/strictyaml"
)

// badFlag makes a wrong flag bad input, and names the nearest.
func badFlag(cmd *cobra.Command, err error) error {
	near := ""
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		var flags []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { flags = append(flags, "--"+f.Name) })
		if near = strictyaml.Suggest("--"+cmp.Or(unknown.GetSpecifiedShortnames(), unknown.GetSpecifiedName()), flags); near != "" {
			near = ", " + near
		}
	}
	return badInput(fmt.Errorf("%w%s (see '%s --help')", err, near, cmd.CommandPath()))
}

// knownVerb refuses a verb that does not exist, and names the nearest.
func knownVerb(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		return fmt.Errorf("unknown verb %q, did you mean %q?", args[0], near[0])
	}
	return fmt.Errorf("unknown verb %q", args[0])
}

// knownTopic refuses to help with a verb that does not exist.
func knownTopic(help *cobra.Command, args []string) error {
	cmd, rest, err := help.Root().Find(args)
	if err != nil {
		return badInput(err)
	}
	return argsAsInput(knownVerb)(cmd, rest)
}

// noArgs refuses arguments.
func noArgs(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("unexpected argument %q: this verb takes flags only", args[0])
	}
	return nil
}

// asUsed says in the words of a verb's own Use line which arguments are missing or too many.
func asUsed(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if check(cmd, args) == nil {
			return nil
		}
		_, takes, _ := strings.Cut(cmd.Use, " ")
		names := strings.Fields(strings.TrimSuffix(takes, "..."))
		if len(args) < len(names) && !strings.HasPrefix(takes, "[") {
			return fmt.Errorf("name %s", strings.Join(names[len(args):], " and "))
		}
		return fmt.Errorf("unexpected argument %q: this verb takes %s only", args[len(args)-1], takes)
	}
}

// argsAsInput makes wrong arguments bad input.
func argsAsInput(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return badInput(fmt.Errorf("%w (see '%s --help')", err, cmd.CommandPath()))
		}
		return nil
	}
}
