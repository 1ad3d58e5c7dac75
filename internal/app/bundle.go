package app

import (
	"archive/zip"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"sidetone/internal/catalogue"
	"sidetone/internal/control"
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
	b := &bundle{Writer: zip.NewWriter(w), mask: mask}
	page, err := maskedReport(mask, a.Status(), a.Timeline())
	if err != nil {
		return err
	}
	b.store(BundledReport, string(page))
	b.storeJSON("status.json", a.Status())
	b.storeJSON("timeline.json", a.Timeline())
	b.storeJSON("devices.json", found)
	b.storeJSON("settings.json", set.Origins)
	b.storeJSON("system.json", a.system())
	b.store("log.txt", mask.apply(a.tail.String()))
	if a.opts.LogFile != "" {
		b.storeLogs(filepath.Dir(a.opts.LogFile))
	}
	if guard := a.guard.Load(); guard != nil {
		for _, r := range guard.Reports() {
			b.store(r.Name, mask.apply(r.Text))
		}
	}
	files, _ := catalogue.Files(set.Config.Catalogue) // what cannot be read is left out
	for i, file := range files {
		name := "catalogue" + filepath.Ext(file)
		if i > 0 {
			name = fmt.Sprintf("catalogue-%d%s", i+1, filepath.Ext(file))
		}
		b.storeFile(name, file)
	}
	return cmp.Or(b.err, b.Close())
}

// bundle is an archive under way.
type bundle struct {
	*zip.Writer
	mask *mask
	err  error // the first one; nothing is stored after it
}

func (b *bundle) store(name, text string) {
	if b.err != nil {
		return
	}
	f, err := b.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: time.Now()})
	if err == nil {
		_, err = io.WriteString(f, text)
	}
	b.fail(name, err)
}

func (b *bundle) fail(name string, err error) {
	if err != nil && b.err == nil {
		b.err = fmt.Errorf("bundle: %s: %w", name, err)
	}
}

func (b *bundle) storeJSON(name string, what any) {
	text, err := json.MarshalIndent(what, "", "  ")
	b.fail(name, err)
	b.store(name, string(b.mask.json(text)))
}

// storeFile stores a text file, unless it cannot be read: a log may just have been rotated.
func (b *bundle) storeFile(name, path string) {
	if text, err := os.ReadFile(path); err == nil {
		b.store(name, b.mask.apply(string(text)))
	}
}

// storeLogs stores the log files of the agent and those of the tray, which are beside them on Windows.
func (b *bundle) storeLogs(folder string) {
	all, _ := os.ReadDir(folder) // without it the last lines are in the bundle all the same
	for _, entry := range all {
		ofAgent, _ := filepath.Match("agent*.log", entry.Name())
		ofTray, _ := filepath.Match("tray*.log", entry.Name())
		if (ofAgent || ofTray) && entry.Type().IsRegular() {
			b.storeFile(entry.Name(), filepath.Join(folder, entry.Name()))
		}
	}
}

// maskedReport makes the page of an agent from masked data: in HTML a name may be written otherwise.
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

// systemInfo describes what an agent runs on.
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
	a.versions.Range(func(source, version any) bool {
		info.Sources[source.(string)] = version.(string)
		return true
	})
	return info
}
