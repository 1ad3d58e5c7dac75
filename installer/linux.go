package main

import (
	"bytes"
	"compress/gzip"
	_ "embed" // for the files of a distribution
	"encoding/xml"
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"sidetone/internal/brand"
	"sidetone/internal/catalogue"
	"sidetone/internal/platform/desktop"
	"sidetone/internal/service"
)

//go:embed linux/lintian-overrides
var overrides string

// Release is the release that is packaged.
type Release struct {
	Version string    // for package managers: numbers with dots
	Build   string    // the version that the programs report
	Commit  string    // of the sources
	Time    time.Time // of the commit, and of every file
}

type programs struct{ agent, tray []byte }

func readPrograms(folder string, names ...string) ([][]byte, error) {
	list := make([][]byte, len(names))
	for i, name := range names {
		var err error
		if list[i], err = os.ReadFile(filepath.Join(folder, name)); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// base returns the files that packages for every system have: the programs, the brand's settings, and the catalogues.
func (b *Brand) base(p programs, suffix, traySuffix string) (t Tree, err error) {
	name := b.Product.Program
	t.addProgram(name+suffix, p.agent)
	t.addProgram(name+traySuffix+suffix, p.tray)
	own := map[string]any{"vendor": map[string]string{"id": b.Vendor.ID, "client_id": b.Vendor.ClientID}}
	if len(b.Languages) > 0 {
		own["languages"] = b.Languages
	}
	if len(b.settings.Texts.Content) > 0 {
		own["texts"] = &b.settings.Texts
	}
	defaults := map[string]any{"catalogue": "catalogue"}
	for key, value := range b.settings.Defaults {
		defaults[key] = &value
	}
	policy := make(map[string]any)
	for key, value := range b.settings.Policy {
		policy[key] = &value
	}
	for file, content := range map[string]map[string]any{"brand": own, "defaults": defaults, "policy": policy} {
		if len(content) == 0 {
			continue
		}
		text, err := yaml.Marshal(content)
		if err != nil {
			return nil, err
		}
		t.add(name+"."+file+".yaml", text)
	}
	for _, file := range b.files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		t.add("catalogue/"+filepath.Base(file), text)
	}
	return t, nil
}

// linux returns the files of a package for Linux. generated are man pages and completions, by name.
func (b *Brand) linux(r Release, format string, p programs, generated map[string][]byte) (Tree, error) {
	name := b.Product.Program
	base, err := b.base(p, "", "-tray")
	if err != nil {
		return nil, err
	}
	t := base.below("/usr/lib/" + name)
	t.link("/usr/bin/"+name, "../lib/"+name+"/"+name)
	agent := service.Agent{Name: name, Executable: "/usr/bin/" + name, Arguments: []string{"run"}}
	t.add("/usr/lib/systemd/user/"+name+".service", b.unit(agent.Unit()))
	t.add("/usr/lib/systemd/user/"+name+"-empty.service", b.unit(agent.EmptyUnit()))
	t.add("/usr/lib/systemd/user-preset/90-"+name+".preset", []byte("enable "+name+".service\n"))
	tray := desktop.TrayEntry(b.Product.Name, brand.TrayCommand("/usr/bin/"+name), nil)
	t.add("/etc/xdg/autostart/"+name+"-tray.desktop", []byte(tray.File()+"TryExec=/usr/bin/"+name+"\nIcon="+name+"\n"))
	t[len(t)-1].Config = true
	if rules := b.whole.UdevRules(); rules != "" {
		t.add("/usr/lib/udev/rules.d/70-"+name+"-hid.rules", []byte(rules))
	}
	icon, err := os.ReadFile(filepath.Join(b.folder, b.Product.Icon))
	if err != nil {
		return nil, err
	}
	t.add("/usr/share/icons/hicolor/scalable/apps/"+name+".svg", icon)
	t.add("/usr/share/applications/"+name+".desktop", b.desktopEntry())
	t.add("/usr/share/metainfo/"+b.appID()+".metainfo.xml", b.metainfo(r))
	zsh := "/usr/share/zsh/site-functions/_"
	if format == "deb" {
		zsh = "/usr/share/zsh/vendor-completions/_"
		t.add("/usr/share/lintian/overrides/"+name, []byte(strings.ReplaceAll(overrides, "@NAME@", name)))
	}
	for file, text := range generated {
		switch path.Ext(file) {
		case ".1":
			t.add("/usr/share/man/man1/"+file+".gz", zipped(text))
		case ".bash":
			t.add("/usr/share/bash-completion/completions/"+name, text)
		case ".zsh":
			t.add(zsh+name, text)
		case ".fish":
			t.add("/usr/share/fish/vendor_completions.d/"+name+".fish", text)
		}
	}
	return t, nil
}

func (b *Brand) unit(text string) []byte {
	name := b.Product.Program
	_, rest, _ := strings.Cut(text, "\n") // without the line that says who wrote it
	return []byte("# Part of the package " + name + ". Changes belong into a drop-in: systemctl --user edit " + name + "\n" + rest)
}

// desktopEntry is the entry in menus. It shows the icon in the tray, or says that this session has one.
func (b *Brand) desktopEntry() []byte {
	p := b.Product
	return fmt.Appendf(nil, `[Desktop Entry]
Type=Application
Name=%s
Comment=%s
Exec=/usr/bin/%s tray
TryExec=/usr/bin/%[3]s
Icon=%[3]s
Terminal=false
Categories=Settings;HardwareSettings;
Keywords=headset;microphone;mute;
StartupNotify=false
`, p.Name, p.Summary, p.Program)
}

// appID is the product's id in software centres: the vendor's domain reversed, and the program's name.
func (b *Brand) appID() string {
	u, _ := url.Parse(b.Vendor.URL) // it was checked
	labels := strings.Split(strings.TrimPrefix(u.Hostname(), "www."), ".")
	slices.Reverse(labels)
	return strings.Join(append(labels, strings.ReplaceAll(b.Product.Program, "-", "_")), ".")
}

// component is what software centres read (AppStream).
type component struct {
	XMLName     xml.Name `xml:"component"`
	Type        string   `xml:"type,attr"`
	ID          string   `xml:"id"`
	Name        string   `xml:"name"`
	Summary     string   `xml:"summary"`
	Metadata    string   `xml:"metadata_license"`
	License     string   `xml:"project_license"`
	Developer   string   `xml:"developer_name"`
	Description string   `xml:"description>p"`
	Launchable  struct {
		Type string `xml:"type,attr"`
		ID   string `xml:",chardata"`
	} `xml:"launchable"`
	URLs     []link   `xml:"url"`
	Binary   string   `xml:"provides>binary"`
	Modalias []string `xml:"provides>modalias"`
	Release  struct {
		Version string `xml:"version,attr"`
		Date    string `xml:"date,attr"`
	} `xml:"releases>release"`
	Rating struct {
		Type string `xml:"type,attr"`
	} `xml:"content_rating"`
}

type link struct {
	Type string `xml:"type,attr"`
	URL  string `xml:",chardata"`
}

func (b *Brand) metainfo(r Release) []byte {
	c := component{
		Type: "desktop-application", ID: b.appID(), Name: b.Product.Name, Summary: b.Product.Summary, Metadata: "CC0-1.0", License: "Apache-2.0",
		Developer: b.Vendor.Publisher, Description: b.Product.Description, Binary: b.Product.Program,
		URLs: []link{{"homepage", b.Vendor.URL}, {"help", b.Vendor.Support}},
	}
	c.Launchable.Type, c.Launchable.ID = "desktop-id", b.Product.Program+".desktop"
	for _, p := range b.whole.Products {
		for _, l := range p.Links {
			if l.Kind == catalogue.LinkBluetooth { // another vendor's USB device may have the same numbers
				continue
			}
			for _, pid := range l.PIDs {
				c.Modalias = append(c.Modalias, fmt.Sprintf("usb:v%sp%sd*", strings.ToUpper(l.VID), strings.ToUpper(pid)))
			}
		}
	}
	slices.Sort(c.Modalias)
	c.Modalias = slices.Compact(c.Modalias)
	c.Release.Version, c.Release.Date, c.Rating.Type = r.Version, r.Time.Format(time.DateOnly), "oars-1.1"
	text, err := xml.MarshalIndent(c, "", "  ")
	if err != nil {
		panic(err) // every field can be written as XML
	}
	return append([]byte(xml.Header), append(text, '\n')...)
}

// zipped compresses with gzip, reproducibly.
func zipped(text []byte) []byte {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
	_, _ = w.Write(text)
	_ = w.Close()
	return b.Bytes()
}

//go:embed linux/sessions.sh
var sessions string

// calls are the commands of a package's scripts, by the package's format and the script's name in nfpm. Each format passes arguments of its
// own.
var calls = map[string]map[string]string{
	"deb": {
		"postinstall": "case $1 in configure | abort-*) installed ;; esac", // abort-*: a removal that was interrupted has ended agents
		"preremove":   "case $1 in remove) end ;; esac",
		"postremove": "case $1 in\nremove) removed ;;\npurge)\n\trm -rf /etc/@NAME@/config.yaml /etc/@NAME@/policy.d\n" +
			"\trmdir /etc/@NAME@ 2>/dev/null || true ;;\nesac",
	},
	"rpm": {
		"posttrans":  "installed", // %post runs before the old version's files are removed
		"preremove":  "[ \"$1\" -gt 0 ] || end",
		"postremove": "[ \"$1\" -gt 0 ] || removed",
	},
	"archlinux": {
		"postinstall": "installed",
		"postupgrade": "installed",
		"preremove":   "end",
		"postremove":  "removed",
	},
}

// scripts are those of a package, by their names in nfpm.
func (b *Brand) scripts(format string) map[string]string {
	all := make(map[string]string)
	for name, call := range calls[format] {
		text := "#!/bin/sh\nset -e\n\n" + sessions + "\n" + call + "\nexit 0\n"
		if format == "archlinux" { // whose scripts are bodies of functions
			text = sessions + "\n" + call + "\n"
		}
		all[name] = strings.ReplaceAll(text, "@NAME@", b.Product.Program)
	}
	return all
}
