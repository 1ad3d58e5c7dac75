package main

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"sidetone/internal/app"
	"sidetone/internal/control"
)

func bundleCommand() *cobra.Command {
	var yes bool
	cmd := askCommand(&cobra.Command{
		Use:   "bundle FILE.zip",
		Short: "Save the running agent's state for support, with personal names masked",
		Long: `Fetches the agent's state, its last lines of log and the versions of this system, shows all of it, and
then writes it as a zip archive. Serial numbers, Bluetooth addresses and names of users are masked.
Nothing is sent anywhere. Without --yes it is only shown.

Exit code 1 if no agent runs or the file cannot be written.`,
	}, func(cmd *cobra.Command, args []string, c *control.Client) error {
		var archive strings.Builder
		if err := c.Bundle(cmd.Context(), &archive); err != nil {
			return err
		}
		if err := showArchive(cmd.OutOrStdout(), archive.String()); err != nil {
			return err
		}
		if !yes {
			fmt.Fprintf(cmd.ErrOrStderr(), "%s: nothing was written; with --yes this goes to %s\n", programName(), args[0])
			return nil
		}
		err := saveNew(args[0], func(w io.Writer) error {
			_, err := io.WriteString(w, archive.String())
			return err
		})
		if errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("bundle: %s exists and is not overwritten: name another file", args[0])
		}
		if err != nil {
			return fmt.Errorf("bundle: nothing was saved: %w", err)
		}
		return nil
	})
	cmd.Flags().BoolVar(&yes, "yes", false, "write the file")
	return cmd
}

// showArchive prints every file of the archive but the page, whose content is also there as data.
func showArchive(w io.Writer, archive string) error {
	z, err := zip.NewReader(strings.NewReader(archive), int64(len(archive)))
	if err != nil {
		return fmt.Errorf("the agent's bundle cannot be read: %w", err)
	}
	for _, f := range z.File {
		fmt.Fprintf(w, "--- %s\n", f.Name)
		if f.Name == app.BundledReport {
			fmt.Fprintf(w, "(status.json and timeline.json as a page, %d bytes)\n\n", f.UncompressedSize64)
			continue
		}
		r, err := f.Open()
		if err != nil {
			return err
		}
		_, err = io.Copy(w, r)
		_ = r.Close()
		if err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	return nil
}
