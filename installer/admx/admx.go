// Package admx writes the templates by which Windows' group policy editor, and Intune, offer the agent's settings to an administrator.
package admx

import (
	"embed"
	"encoding/xml"
	"fmt"
	"slices"
	"strings"

	"sidetone/internal/config"
	"sidetone/internal/strictyaml"
)

// A Program is whose settings the templates are of.
type Program struct {
	Name      string // of the program and of the files, such as acme-agent
	Title     string // what the editor calls it, such as "Acme Agent"
	Key       string // below HKEY_LOCAL_MACHINE, such as Software\Policies\acme-agent
	Namespace string // unique among all templates of the world, such as Acme.Policies.Agent
}

// A File is a template: the definitions, or the words of a language.
type File struct {
	Path string // in the folder PolicyDefinitions, with slashes
	Data []byte
}

// Files returns the definitions and the words of each language.
func Files(p Program) ([]File, error) {
	settings := config.Keys()
	definitions, err := document(definitionsOf(p, settings))
	if err != nil {
		return nil, err
	}
	files := []File{{p.Name + ".admx", definitions}}
	for _, tag := range []string{"en-US", "de-DE"} {
		w, err := wordsIn(tag, settings)
		if err != nil {
			return nil, err
		}
		data, err := document(resourcesOf(p, settings, w))
		if err != nil {
			return nil, err
		}
		files = append(files, File{tag + "/" + p.Name + ".adml", data})
	}
	return files, nil
}

//go:embed words
var folder embed.FS

type words struct {
	Supported string            `yaml:"supported"`
	Default   string            `yaml:"default"` // %s is the default
	None      string            `yaml:"none"`    // the default is empty
	List      string            `yaml:"list"`    // how to write several values
	Groups    map[string]string `yaml:"groups"`  // by the first part of a setting's path
	Help      map[string]string `yaml:"help"`    // by path; in English it is the settings' own
}

func wordsIn(tag string, settings []config.Key) (w words, err error) {
	name := "words/" + tag + ".yaml"
	data, err := folder.ReadFile(name)
	if err != nil {
		return w, err
	}
	if _, problems := strictyaml.Decode(name, data, &w); len(problems) > 0 {
		return w, fmt.Errorf("templates of policies: %s", problems[0])
	}
	for _, s := range settings {
		if tag == "en-US" {
			w.Help[s.Path] = s.Help
		}
		if w.Help[s.Path] == "" {
			return w, fmt.Errorf("templates of policies: %s has no help for the setting %s", name, s.Path)
		}
	}
	return w, nil
}

// group is the part of a setting's path by which the editor sorts it.
func group(path string) string {
	if first, _, nested := strings.Cut(path, "."); nested {
		return first
	}
	return "agent"
}

// id is a setting's path as a name in the templates.
func id(path string) string { return strings.ReplaceAll(path, ".", "_") }

func isSwitch(k config.Key) bool { return slices.Equal(k.Values, []string{"true", "false"}) }

// isChoice reports whether a setting is one of few values. A list may have several of them.
func isChoice(k config.Key) bool { return k.Values != nil && !isSwitch(k) && !k.List }

func document(root any) ([]byte, error) {
	text, err := xml.MarshalIndent(root, "", "  ")
	return slices.Concat([]byte(xml.Header), text, []byte("\n")), err
}
