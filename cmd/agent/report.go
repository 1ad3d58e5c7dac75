package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"sidetone/internal/app"
	"sidetone/internal/brand"
	"sidetone/internal/engine"
	"sidetone/internal/platform/files"
	"sidetone/internal/platform/paths"
	"sidetone/internal/report"
)

func reportCommand() *cobra.Command {
	var recording, catalogue string
	var force bool
	cmd := &cobra.Command{
		Use:   "report [FILE.html]",
		Short: "Write a page with what the agent knows and what happened in the last hours",
		Long: `Writes a web page for users and their support: devices, each flag with its source and since when, clients,
problems with their remedies, and the timeline of the last hours (docs/report.md). It is one file, which loads nothing and has
no script. FILE - is standard output. Without FILE it goes to the user's downloads, where any browser may read it, and its
path is printed.

It is about the running agent, or with --recording about a recording ('sidetone record'); one that was written by hand needs --catalogue.
The language is that of the desktop, or --lang. An existing report is overwritten, anything else only with --force.

The page may contain names and serial numbers of devices; 'sidetone bundle' makes one in which they are masked.

Exit codes: 0 done; 1 no agent runs, or the file cannot be written; 2 the recording or the catalogue is wrong.`,
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		say, err := printerFor(cmd, brand.DesktopLanguage)
		if err != nil {
			return err
		}
		var about report.Input
		if recording != "" {
			about, err = reportRecording(cmd, recording, catalogue)
		} else {
			about, err = reportAgent(cmd)
		}
		if err != nil {
			return err
		}
		page := report.Build(about, say).HTML()
		if len(args) == 1 && args[0] == "-" {
			_, err = cmd.OutOrStdout().Write(page)
			return err
		}
		if len(args) == 1 {
			return saveReport(args[0], page, force)
		}
		folder, err := paths.Downloads(host.Getenv)
		if err != nil {
			return err
		}
		path := filepath.Join(folder, programName()+"-report.html")
		if err = saveReport(path, page, force); err == nil {
			line(cmd.OutOrStdout(), "%s", path)
		}
		return err
	}
	cmd.Flags().Var((*fileName)(&recording), "recording", "make it of this recording; - is standard input")
	cmd.Flags().StringVar(&catalogue, "catalogue", "", "catalogue to replay the recording with, instead of the recorded one")
	cmd.Flags().BoolVar(&force, "force", false, "overwrite FILE whatever it is")
	return withAgent(cmd)
}

// reportAgent asks the running agent.
func reportAgent(cmd *cobra.Command) (about report.Input, err error) {
	c, err := findAgent(cmd, false)
	if err != nil {
		return about, err
	}
	if about.Status, err = c.Status(cmd.Context()); err != nil {
		return about, err
	}
	about.Timeline, err = c.Timeline(cmd.Context())
	about.Now = time.Now()
	return about, err
}

// reportRecording replays a recording.
func reportRecording(cmd *cobra.Command, path, catalogue string) (about report.Input, err error) {
	set, err := replaySettings(catalogue)
	if err != nil {
		return about, err
	}
	file, err := openInterruptible(cmd.Context(), path)
	if err != nil {
		return about, badInput(err)
	}
	defer file.Close()
	player := engine.NewPlayer(set, catalogue != "")
	history := app.NewHistory(player)
	_, err = replay(cmd.ErrOrStderr(), path, file, player, func(_ int, r engine.Record, _ engine.Replayed) { history.Played(r) })
	if err != nil {
		return about, badFile(err)
	}
	return history.Report(path), nil
}

// saveReport writes a page. It may overwrite an earlier report, so that a daily report can keep its name.
func saveReport(path string, page []byte, force bool) error {
	whole := func(w io.Writer) error {
		_, err := w.Write(page)
		return err
	}
	err := saveNew(path, whole)
	if errors.Is(err, fs.ErrExist) {
		if !force && !isReport(path) {
			return fmt.Errorf("report: %s exists and is no report: name another file, or overwrite it with --force", path)
		}
		if info, failed := os.Stat(path); failed == nil && !info.Mode().IsRegular() {
			return fmt.Errorf("report: %s is no regular file: name another one, or - for standard output", path)
		}
		err = files.Replace(path, page, 0o600)
	}
	if err != nil {
		return fmt.Errorf("report: nothing was saved: %w", err)
	}
	return nil
}

// isReport reports whether a file is a report made by this program.
func isReport(path string) bool {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return false
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head, _ := io.ReadAll(io.LimitReader(f, 512))
	return bytes.Contains(head, []byte(report.Mark))
}
