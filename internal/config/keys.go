package config

import (
	"fmt"
	"reflect"
	"strings"
	"time"
)

// Key describes one setting, for flags and help.
type Key struct {
	Path    string // such as rpc.probe_timeout
	Env     string // such as RPC_PROBE_TIMEOUT, behind the prefix that is this program's
	Flag    string // such as rpc-probe-timeout
	Default string
	Help    string
	Values  []string // the allowed values; nil: any
	List    bool     // several values, separated by commas
}

// Keys lists every setting in the order of Config.
func Keys() []Key {
	var keys []Key
	for _, l := range leaves(Default()) {
		keys = append(keys, Key{
			Path: l.path, Env: envName(l.path), Flag: flagName(l.path), Default: l.text(), Help: l.help, Values: l.enum(), List: l.isList(),
		})
	}
	return keys
}

func envName(path string) string { return strings.ToUpper(strings.ReplaceAll(path, ".", "_")) }

func flagName(path string) string { return strings.NewReplacer(".", "-", "_", "-").Replace(path) }

// leaf is one setting of a Config.
type leaf struct {
	path, help string
	value      reflect.Value // addressable, in the Config
}

func leaves(c *Config) []leaf { return leavesOf("", reflect.ValueOf(c).Elem()) }

func leavesOf(prefix string, v reflect.Value) []leaf {
	var out []leaf
	for f, value := range v.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if f.Type.Kind() == reflect.Struct {
			out = append(out, leavesOf(prefix+name+".", value)...)
			continue
		}
		out = append(out, leaf{prefix + name, f.Tag.Get("help"), value})
	}
	return out
}

// text returns the value as an environment variable or flag would give it.
func (l leaf) text() string {
	switch v := l.value.Interface().(type) {
	case time.Duration:
		return short(v)
	case fmt.Stringer:
		return v.String()
	}
	if l.value.Kind() != reflect.Slice {
		return fmt.Sprint(l.value)
	}
	parts := make([]string, l.value.Len())
	for i := range parts {
		parts[i] = fmt.Sprint(l.value.Index(i))
	}
	return strings.Join(parts, ",")
}

// enum returns the allowed values of a setting, or of the elements of a list; nil where any is allowed.
func (l leaf) enum() []string {
	typ := l.value.Type()
	if typ.Kind() == reflect.Slice {
		typ = typ.Elem()
	}
	if typ.Kind() == reflect.Bool {
		return []string{"true", "false"}
	}
	if e, ok := reflect.Zero(typ).Interface().(interface{ Enum() []string }); ok {
		return e.Enum()
	}
	return nil
}

// isList reports whether a setting has several values. Ports are among them.
func (l leaf) isList() bool { return l.value.Kind() == reflect.Slice }

// short formats a duration as 1m rather than 1m0s.
func short(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
