package config

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"sidetone/internal/strictyaml"
)

// Key describes one setting, for flags and help.
type Key struct {
	Path    string // such as rpc.probe_timeout
	Env     string // such as RPC_PROBE_TIMEOUT, without the program's prefix
	Flag    string // such as rpc-probe-timeout
	Default string
	Help    string
	Values  []string // the allowed values, or those of the elements of a list; nil: any
	List    bool     // several values, separated by commas; ports are among them
}

// Keys lists every setting in the order of Config.
func Keys() []Key {
	var keys []Key
	for _, l := range leaves(Default()) {
		keys = append(keys, l.Key)
	}
	return keys
}

func flagName(path string) string { return strings.NewReplacer(".", "-", "_", "-").Replace(path) }

// leaf is one setting of a Config.
type leaf struct {
	Key
	value reflect.Value // addressable, in the Config
}

// leaves lists the settings of a Config that has the defaults.
func leaves(c *Config) []leaf { return leavesOf("", reflect.ValueOf(c).Elem()) }

func leavesOf(prefix string, v reflect.Value) []leaf {
	var out []leaf
	for f, value := range v.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		path := prefix + name
		if f.Type.Kind() == reflect.Struct {
			out = append(out, leavesOf(path+".", value)...)
			continue
		}
		l := leaf{Key{Path: path, Flag: flagName(path), Help: f.Tag.Get("help"), List: f.Type.Kind() == reflect.Slice}, value}
		l.Env, l.Default, l.Values = strings.ToUpper(strings.ReplaceAll(path, ".", "_")), l.text(), l.enum()
		out = append(out, l)
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
	if !l.List {
		return fmt.Sprint(l.value)
	}
	parts := make([]string, l.value.Len())
	for i := range parts {
		parts[i] = fmt.Sprint(l.value.Index(i))
	}
	return strings.Join(parts, ",")
}

// enum returns the allowed values of the setting, or of the elements of a list; nil if any is allowed.
func (l leaf) enum() []string {
	typ := l.value.Type()
	if l.List {
		typ = typ.Elem()
	}
	if typ.Kind() == reflect.Bool {
		return []string{"true", "false"}
	}
	return strictyaml.EnumOf(typ)
}

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
