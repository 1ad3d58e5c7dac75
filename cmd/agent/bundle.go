package main

import (
	"archive/zip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/user"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"sidetone/internal/control"
)

// Bundle writes what support needs to see: the state of the agent and the catalogue in force.
// Serial numbers and the user's name are masked.
func (b *backend) Bundle(w io.Writer) error {
	set := b.current()
	found := b.Devices()
	mask := newMask()
	for _, e := range found.Endpoints {
		mask.serial(e.Serial)
	}
	for _, l := range b.engine.View().Leases {
		mask.serial(l.Serial)
	}
	z := zip.NewWriter(w)
	for _, part := range []struct {
		name string
		what any
	}{{"status.json", b.Status()}, {"devices.json", found}, {"settings.json", set.Config}} {
		text, err := json.MarshalIndent(part.what, "", "  ")
		if err != nil {
			return fmt.Errorf("bundle: %s: %w", part.name, err)
		}
		if err := store(z, part.name, mask.apply(string(text))); err != nil {
			return err
		}
	}
	if text, err := os.ReadFile(set.Catalogue); err == nil {
		if err := store(z, "catalogue"+filepath.Ext(set.Catalogue), mask.apply(string(text))); err != nil {
			return err
		}
	}
	return z.Close()
}

func store(z *zip.Writer, name, text string) error {
	f, err := z.Create(name)
	if err == nil {
		_, err = io.WriteString(f, text)
	}
	if err != nil {
		return fmt.Errorf("bundle: %s: %w", name, err)
	}
	return nil
}

// mask replaces what names a person or a single device.
type mask struct{ pairs []string }

func newMask() *mask {
	m := &mask{}
	if home, err := os.UserHomeDir(); err == nil && len(home) > 1 {
		m.pairs = append(m.pairs, home, "HOME")
	}
	if u, err := user.Current(); err == nil && len(u.Username) > 2 && u.Username != "root" {
		m.pairs = append(m.pairs, u.Username, "USER")
	}
	return m
}

// serial masks a serial number; each gets its own name, so that units stay apart.
func (m *mask) serial(s string) {
	if len(s) < 2 {
		return
	}
	for i := 0; i < len(m.pairs); i += 2 {
		if m.pairs[i] == s {
			return
		}
	}
	m.pairs = append(m.pairs, s, fmt.Sprintf("SERIAL-%d", len(m.pairs)/2))
}

func (m *mask) apply(text string) string { return strings.NewReplacer(m.pairs...).Replace(text) }

func bundleCommand() *cobra.Command {
	var yes bool
	cmd := askCommand(&cobra.Command{
		Use:   "bundle FILE.zip",
		Short: "Save the running agent's state for support, with serials and names of users masked",
		Long: `Fetches the agent's state, shows all of it, and then writes it as a zip archive. Nothing is sent
anywhere. Without --yes it is only shown.

Exit code 1 if no agent runs or the file cannot be written.`,
		Args: cobra.ExactArgs(1),
	}, func(cmd *cobra.Command, args []string, c *control.Client) error {
		var archive strings.Builder
		if err := c.Bundle(cmd.Context(), &archive); err != nil {
			return err
		}
		if err := showArchive(cmd.OutOrStdout(), archive.String()); err != nil {
			return err
		}
		if !yes {
			fmt.Fprintf(cmd.ErrOrStderr(), "sidetone: nothing was written; with --yes this goes to %s\n", args[0])
			return nil
		}
		f, err := os.OpenFile(args[0], os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return fmt.Errorf("bundle: %w (a file that exists is not overwritten)", err)
		}
		_, err = io.WriteString(f, archive.String())
		if closing := f.Close(); err == nil {
			err = closing
		}
		return err
	})
	cmd.Flags().BoolVar(&yes, "yes", false, "write the file")
	return cmd
}

// showArchive prints every file of the archive.
func showArchive(w io.Writer, archive string) error {
	z, err := zip.NewReader(strings.NewReader(archive), int64(len(archive)))
	if err != nil {
		return fmt.Errorf("the agent's bundle cannot be read: %w", err)
	}
	for _, f := range z.File {
		fmt.Fprintf(w, "--- %s\n", f.Name)
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
