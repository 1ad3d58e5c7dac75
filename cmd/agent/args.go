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

// badFlag turns a flag error into bad input, and suggests the nearest flag.
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

// knownVerb refuses an unknown verb, and suggests the nearest.
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

// knownTopic refuses help on an unknown verb.
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

// asUsed reports missing or surplus arguments in the terms of the verb's Use line.
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

// argsAsInput turns argument errors into bad input.
func argsAsInput(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return badInput(fmt.Errorf("%w (see '%s --help')", err, cmd.CommandPath()))
		}
		return nil
	}
}
