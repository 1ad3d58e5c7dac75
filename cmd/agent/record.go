package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"sidetone/internal/control"
	"sidetone/internal/engine"
)

func recordCommand() *cobra.Command {
	var force bool
	var limit time.Duration
	cmd := askCommand(&cobra.Command{
		Use:   "record FILE",
		Short: "Record every input of the running agent and what it reports",
		Long: `Writes a recording (docs/recording.md) until it is interrupted, the time of --for is over, or the
agent stops. 'sidetone replay' plays it on any machine. FILE grows during the recording; - is standard
output.

A recording holds names and serial numbers of devices, every report that the devices named in the
catalogue send, and the catalogue. Read it before you give it to anyone.

Exit code 1 if no agent runs, the file exists or cannot be written, or the recording was cut off.`,
	}, func(cmd *cobra.Command, args []string, c *control.Client) error {
		if limit < 0 {
			return badInput(errors.New("--for: below zero"))
		}
		ctx, cancel := context.WithCancel(cmd.Context())
		defer cancel()
		file := recordFile{path: args[0], force: force, stdout: cmd.OutOrStdout()}
		err := c.Record(ctx, func(line []byte) error {
			if file.out == nil && limit > 0 {
				time.AfterFunc(limit, cancel)
			}
			return file.write(line)
		})
		if closing := file.close(); closing != nil {
			return closing
		}
		if err != nil && ctx.Err() == nil && !errors.Is(err, control.ErrEnded) {
			return err
		}
		return file.summary(cmd.ErrOrStderr())
	})
	cmd.Flags().BoolVar(&force, "force", false, "overwrite FILE if it exists")
	cmd.Flags().DurationVar(&limit, "for", 0, "how long; 0: until it is interrupted")
	return cmd
}

// recordFile is the output file of a recording. The first write opens it.
type recordFile struct {
	path   string
	force  bool
	stdout io.Writer // for the path "-"

	out           io.Writer
	inputs, lists int
	length        engine.Span
	end           *engine.End // nil: the last line has not come
}

// write writes a line without a buffer, so that the file is always up to date.
func (f *recordFile) write(line []byte) error {
	if f.out == nil {
		if err := f.open(); err != nil {
			return err
		}
	}
	var kind struct {
		T                              engine.Span
		Recording, Begin, List, Client json.RawMessage
		End                            *engine.End
	}
	if err := json.Unmarshal(line, &kind); err != nil {
		return fmt.Errorf("the agent's recording cannot be read: %w", err)
	}
	f.length = max(f.length, kind.T)
	switch {
	case kind.List != nil:
		f.lists++
	case kind.End != nil:
		f.end = kind.End
	case kind.Recording == nil && kind.Begin == nil && kind.Client == nil:
		f.inputs++
	}
	if _, err := f.out.Write(append(line[:len(line):len(line)], '\n')); err != nil {
		return fmt.Errorf("record: %w", err)
	}
	return nil
}

func (f *recordFile) open() error {
	if f.path == "-" {
		f.out = f.stdout
		return nil
	}
	if info, err := os.Stat(f.path); err == nil && info.IsDir() {
		return fmt.Errorf("record: %s is a folder: name a file", f.path)
	}
	how := os.O_EXCL
	if f.force {
		how = os.O_TRUNC
	}
	file, err := os.OpenFile(f.path, os.O_WRONLY|os.O_CREATE|how, 0o600)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("record: %w (--force overwrites it)", err)
	}
	if err != nil {
		return fmt.Errorf("record: %w", err)
	}
	f.out = file
	if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
		err = file.Chmod(0o600) // an existing file may be readable by others
		if err != nil {
			return fmt.Errorf("record: %w", err)
		}
	}
	return nil
}

func (f *recordFile) close() error {
	if file, ok := f.out.(*os.File); ok && f.path != "-" {
		return file.Close()
	}
	return nil
}

// summary describes what was recorded.
func (f *recordFile) summary(messages io.Writer) error {
	if f.out == nil {
		return errors.New("record: it has ended before it began; nothing was recorded")
	}
	fmt.Fprintf(messages, "recorded %s and %s in %v to %s\n",
		count(f.inputs, "input"), count(f.lists, "list"), rounded(time.Duration(f.length)), f.path)
	switch {
	case f.end == nil:
		return errors.New("record: the recording was cut off: the connection to the agent has broken")
	case f.end.Error != "":
		return errors.New("record: the recording ends early: " + f.end.Error)
	}
	return nil
}

// rounded rounds a duration for display.
func rounded(d time.Duration) time.Duration {
	if d < 10*time.Second {
		return d.Round(time.Millisecond)
	}
	return d.Round(time.Second)
}
