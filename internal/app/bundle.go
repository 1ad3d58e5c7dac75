package app

import (
	"archive/zip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// Bundle writes what support needs to see: the state of the agent and the catalogue in force.
// Serial numbers and the user's name are masked.
func (a *App) Bundle(w io.Writer) error {
	set := a.current()
	found := a.Devices()
	mask := newMask(a.opts.Host)
	for _, e := range found.Endpoints {
		mask.serial(e.Serial)
	}
	v := a.engine.View()
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
	}{{"status.json", a.Status()}, {"devices.json", found}, {"settings.json", set.Origins}} {
		text, err := json.MarshalIndent(part.what, "", "  ")
		if err != nil {
			return fmt.Errorf("bundle: %s: %w", part.name, err)
		}
		if err := store(z, part.name, mask.apply(string(text))); err != nil {
			return err
		}
	}
	if text, err := os.ReadFile(set.Config.Catalogue); err == nil {
		if err := store(z, "catalogue"+filepath.Ext(set.Config.Catalogue), mask.apply(string(text))); err != nil {
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
