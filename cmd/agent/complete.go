package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sidetone/internal/catalogue"
	"sidetone/internal/control"
	"sidetone/internal/devices"
)

// completionTimeout is how long shell completion waits for the agent.
const completionTimeout = time.Second

// completeWords completes a word, or the last one of a comma-separated list.
func completeWords(words []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		before := typed[:strings.LastIndex(typed, ",")+1]
		var list []string
		for _, w := range words {
			if !slices.Contains(strings.Split(before, ","), w) {
				list = append(list, before+w)
			}
		}
		return list, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeByAgent completes arguments with what the agent knows that the command would ask. If it does not answer, there is no completion.
func completeByAgent(words func(ctx context.Context, c *control.Client, args []string) []string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
		defer cancel()
		cmd.SetContext(ctx)
		c, err := findAgent(cmd, false)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return words(ctx, c, args), cobra.ShellCompDirectiveNoFileComp
	}
}

// pushArguments completes a product of the agent's catalogue, and then FLAG=value arguments.
func pushArguments(ctx context.Context, c *control.Client, args []string) (words []string) {
	if len(args) == 0 {
		st, err := c.Status(ctx)
		if err != nil {
			return nil
		}
		if cat, problems, err := catalogue.Load(st.Catalogue); err == nil && len(problems) == 0 {
			for _, p := range cat.Products {
				words = append(words, p.ID+"\t"+p.Name)
			}
		}
		return words
	}
	for _, f := range devices.Fields {
		if !slices.ContainsFunc(args[1:], func(arg string) bool { return strings.HasPrefix(arg, string(f)+"=") }) {
			words = append(words, string(f)+"=true", string(f)+"=false", string(f)+"=clear")
		}
	}
	return words
}

// endpointArguments completes the endpoints that the agent knows.
func endpointArguments(ctx context.Context, c *control.Client, args []string) (words []string) {
	if len(args) > 0 {
		return nil
	}
	list, err := c.Devices(ctx)
	if err != nil {
		return nil
	}
	for _, e := range list.Endpoints {
		words = append(words, e.ID+"\t"+printable(e.Name))
	}
	return words
}
