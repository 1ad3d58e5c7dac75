package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"sidetone/internal/catalogue"
	"sidetone/internal/strictyaml"
)

func catalogueCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "catalogue",
		Short: "Check or test a vendor's catalogue, or print its schema",
	}
	cmd.AddCommand(catalogueCheckCommand(), catalogueTestCommand(), catalogueSchemaCommand(), catalogueUdevCommand())
	return cmd
}

// checked is the JSON of one checked file.
type checked struct {
	File     string               `json:"file"`
	OK       bool                 `json:"ok"`
	Products int                  `json:"products"`
	Problems []strictyaml.Problem `json:"problems"`
	Warnings []strictyaml.Problem `json:"warnings,omitempty"` // suspicious, but not wrong
}

func catalogueCheckCommand() *cobra.Command {
	return withJSON(&cobra.Command{
		Use:   "check FILE...",
		Short: "Report every problem of catalogues, with its position",
		Long: `Reads each catalogue as 'run' would and reports every problem as file:line:column: what is wrong:
"the offending text" (what would be right). What is valid but seldom right for a device is a warning.
Traces are not checked; 'catalogue test' replays them.

Exit codes: 0 all are in order, with or without warnings; 2 there are problems, or a file cannot be read; 1 anything else.`,
		RunE: func(cmd *cobra.Command, files []string) error {
			results := []checked{}
			code := exitOK
			for _, file := range files {
				cat, problems, err := catalogue.Load(file)
				c := checked{File: file, OK: err == nil && len(problems) == 0, Problems: problems}
				switch {
				case err != nil:
					code = exitBadInput
					c.Problems = []strictyaml.Problem{{File: file, Message: err.Error()}}
					fmt.Fprintln(cmd.ErrOrStderr(), programName()+":", err)
				case !c.OK:
					code = exitBadInput
				default:
					c.Products, c.Problems = len(cat.Products), []strictyaml.Problem{}
					if c.Warnings, err = catalogue.LoadWarnings(file); err != nil {
						return err
					}
				}
				results = append(results, c)
				if !wantsJSON(cmd) && err == nil {
					printChecked(cmd, c)
				}
			}
			if wantsJSON(cmd) {
				if err := printJSON(cmd.OutOrStdout(), results); err != nil {
					return err
				}
			}
			if code != exitOK {
				return exitCode(code)
			}
			return nil
		},
	})
}

func printChecked(cmd *cobra.Command, c checked) {
	for _, p := range c.Problems {
		fmt.Fprintln(cmd.OutOrStdout(), p)
	}
	for _, w := range c.Warnings {
		w.Message = "warning: " + w.Message
		fmt.Fprintln(cmd.OutOrStdout(), w)
	}
	if c.OK {
		fmt.Fprintf(cmd.OutOrStdout(), "%s: in order, %s\n", c.File, count(c.Products, "product"))
	}
}

func catalogueSchemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of a catalogue, for editors",
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := cmd.OutOrStdout().Write(catalogue.Schema)
			return err
		},
	}
}
