package main

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sidetone/internal/config"
	"sidetone/internal/strictyaml"
)

// goneFlags is what replaces the flags of earlier versions that belong to no setting.
var goneFlags = map[string]string{"until-login": "a pause lasts until 'resume', or for the time of --for"}

// flagError marks a flag error as bad input, and says what replaces the flag, or suggests the most similar one.
func flagError(cmd *cobra.Command, err error) error {
	near := ""
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		var flags []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { flags = append(flags, "--"+f.Name) })
		name := cmp.Or(unknown.GetSpecifiedShortnames(), unknown.GetSpecifiedName())
		near = cmp.Or(config.Gone(name), goneFlags[name], strictyaml.Suggest("--"+name, flags))
		if near != "" {
			near = ", " + near
		}
	}
	return badInput(fmt.Errorf("%w%s (see '%s --help')", err, near, cmd.CommandPath()))
}

// checkVerb refuses an unknown verb, and suggests the most similar one.
func checkVerb(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		return fmt.Errorf("unknown verb %q, did you mean %q?", args[0], near[0])
	}
	return fmt.Errorf("unknown verb %q", args[0])
}

// checkHelpTopic refuses help on an unknown verb.
func checkHelpTopic(help *cobra.Command, args []string) error {
	cmd, rest, err := help.Root().Find(args)
	if err != nil {
		return badInput(err)
	}
	return argsAsInput(checkVerb)(cmd, rest)
}

// argsAsUsed checks arguments by the verb's Use line: "VERB A B" takes two, "VERB A..." at least one, "VERB [A]" at most one, and "VERB"
// none.
func argsAsUsed(cmd *cobra.Command, args []string) error {
	_, takes, _ := strings.Cut(cmd.Use, " ")
	names := strings.Fields(strings.TrimSuffix(takes, "..."))
	least, most := len(names), len(names)
	switch {
	case strings.HasPrefix(takes, "["):
		least, most = 0, 1
	case strings.HasSuffix(takes, "..."):
		most = math.MaxInt
	}
	switch {
	case len(args) < least:
		return fmt.Errorf("name %s", strings.Join(names[len(args):], " and "))
	case len(args) > most && takes == "":
		return fmt.Errorf("unexpected argument %q: this verb takes flags only", args[0])
	case len(args) > most:
		return fmt.Errorf("unexpected argument %q: this verb takes %s only", args[len(args)-1], takes)
	}
	return nil
}

// argsAsInput marks argument errors as bad input.
func argsAsInput(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return badInput(fmt.Errorf("%w (see '%s --help')", err, cmd.CommandPath()))
		}
		return nil
	}
}
