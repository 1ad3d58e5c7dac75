package app

import (
	"archive/zip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"sidetone/internal/catalogue"
	"sidetone/internal/control"
	"sidetone/internal/platform"
	"sidetone/internal/platform/system"
	"sidetone/internal/report"
	"sidetone/internal/texts"
	"sidetone/internal/timeline"
)

// BundledReport is the file of a bundle that shows its status.json and timeline.json as a page.
const BundledReport = "report.html"

// Bundle writes what support needs to see: the state of the agent, its last lines of log, reports of crashes, what it runs on, and the
// catalogue in force. Serial numbers, Bluetooth addresses and the user's name are masked.
func (a *App) Bundle(w io.Writer) error {
	set, found := a.current(), a.Devices()
	mask := newMask(a.opts.Host)
	for _, serial := range a.serials.all() {
		mask.serial(serial)
	}
	for _, l := range a.engine.View().Leases {
		mask.serial(l.Serial)
	}
	z := zip.NewWriter(w)
	page, err := maskedReport(mask, a.Status(), a.Timeline())
	if err == nil {
		err = store(z, BundledReport, string(page))
	}
	if err != nil {
		return err
	}
	for _, part := range []struct {
		name string
		what any
	}{
		{"status.json", a.Status()},
		{"timeline.json", a.Timeline()},
		{"devices.json", found},
		{"settings.json", set.Origins},
		{"system.json", a.system()},
	} {
		text, err := json.MarshalIndent(part.what, "", "  ")
		if err != nil {
			return fmt.Errorf("bundle: %s: %w", part.name, err)
		}
		if err := store(z, part.name, string(mask.json(text))); err != nil {
			return err
		}
	}
	if err := store(z, "log.txt", mask.apply(a.tail.String())); err != nil {
		return err
	}
	if err := a.storeLogs(z, mask); err != nil {
		return err
	}
	if guard := a.guard.Load(); guard != nil {
		for _, r := range guard.Reports() {
			if err := store(z, r.Name, mask.apply(r.Text)); err != nil {
				return err
			}
		}
	}
	files, _ := catalogue.Files(set.Config.Catalogue) // what cannot be read is left out
	for i, file := range files {
		name := "catalogue" + filepath.Ext(file)
		if i > 0 {
			name = fmt.Sprintf("catalogue-%d%s", i+1, filepath.Ext(file))
		}
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		if err := store(z, name, mask.apply(string(text))); err != nil {
			return err
		}
	}
	return z.Close()
}

// storeLogs stores the log's files, and the tray's, which are beside them on Windows.
func (a *App) storeLogs(z *zip.Writer, mask *mask) error {
	if a.opts.LogFile == "" {
		return nil
	}
	folder := filepath.Dir(a.opts.LogFile)
	all, _ := os.ReadDir(folder) // without it the last lines are in the bundle all the same
	for _, entry := range all {
		ofAgent, _ := filepath.Match("agent*.log", entry.Name())
		if ofTray, _ := filepath.Match("tray*.log", entry.Name()); !ofAgent && !ofTray || !entry.Type().IsRegular() {
			continue
		}
		text, failed := os.ReadFile(filepath.Join(folder, entry.Name()))
		if failed != nil {
			continue // it has just been put aside
		}
		if err := store(z, entry.Name(), mask.apply(string(text))); err != nil {
			return err
		}
	}
	return nil
}

// maskedReport is the page of an agent, made of what is masked: in its HTML a name may be written otherwise.
func maskedReport(m *mask, st control.Status, t timeline.Timeline) ([]byte, error) {
	in := report.Input{Now: time.Now()}
	for _, part := range []struct{ from, into any }{{st, &in.Status}, {t, &in.Timeline}} {
		text, err := json.Marshal(part.from)
		if err != nil {
			return nil, fmt.Errorf("bundle: %s: %w", BundledReport, err)
		}
		if err = json.Unmarshal(m.json(text), part.into); err != nil {
			return nil, fmt.Errorf("bundle: %s: %w", BundledReport, err)
		}
	}
	return report.Build(in, texts.For(texts.English)).HTML(), nil
}

// systemInfo is what an agent runs on.
type systemInfo struct {
	Sidetone string            `json:"sidetone"`
	Go       string            `json:"go"`
	OS       string            `json:"os"`
	Arch     string            `json:"arch"`
	Sources  map[string]string `json:"sources"` // the programs that sources read from, by source
}

func (a *App) system() systemInfo {
	info := systemInfo{
		Sidetone: a.opts.Version, Go: runtime.Version(), OS: system.Version(), Arch: runtime.GOARCH,
		Sources: make(map[string]string),
	}
	for _, src := range a.sources {
		if v, ok := src.(platform.Versioned); ok {
			info.Sources[src.Name()] = v.Version()
		}
	}
	return info
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
