package main

import (
	"archive/zip"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"time"

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
	v := b.engine.View()
	for _, l := range v.Leases {
		mask.serial(l.Serial)
	}
	for _, h := range v.HID {
		mask.serial(h.Serial)
	}
	z := zip.NewWriter(w)
	for _, part := range []struct {
		name string
		what any
	}{{"status.json", b.Status()}, {"devices.json", found}, {"settings.json", set.list}} {
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
	f, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: time.Now()})
	if err == nil {
		_, err = io.WriteString(f, text)
	}
	if err != nil {
		return fmt.Errorf("bundle: %s: %w", name, err)
	}
	return nil
}

// mask replaces what names a person or a single device.
type mask struct{ names map[string]string } // by what they stand for

func newMask() *mask {
	m := &mask{names: make(map[string]string)}
	if home, err := os.UserHomeDir(); err == nil && len(home) > 1 {
		m.names[home] = "HOME"
	}
	if u, err := user.Current(); err == nil && len(u.Username) > 2 && u.Username != "root" {
		m.names[u.Username] = "USER"
	}
	return m
}

// serial masks a serial number; each gets its own name, so that units stay apart.
func (m *mask) serial(s string) {
	if len(s) < 2 {
		return
	}
	if _, known := m.names[s]; !known {
		m.names[s] = fmt.Sprintf("SERIAL-%d", len(m.names))
	}
}

// apply masks the longest first: one may be the beginning of another.
func (m *mask) apply(text string) string {
	var pairs []string
	for _, what := range slices.SortedFunc(maps.Keys(m.names), func(a, b string) int { return cmp.Or(len(b)-len(a), cmp.Compare(a, b)) }) {
		pairs = append(pairs, what, m.names[what])
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

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
		if errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("bundle: %s exists and is not overwritten: name another file", args[0])
		}
		if err != nil {
			return fmt.Errorf("bundle: %w", err)
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
