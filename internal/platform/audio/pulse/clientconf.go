package pulse

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// clientConf is what a client.conf says of the server.
type clientConf struct {
	sets           bool   // it sets something, whatever that is, or cannot be read
	path           string // the file that names the server
	server, cookie string // default-server and cookie-file; "": not set
}

// maxClientConf bounds one file, in bytes. Debian's has 1201.
const maxClientConf = 64 << 10

// clientConf reads the first client.conf that there is, and the *.conf files of the folder client.conf.d beside it. As for PulseAudio's
// own library, the user's file replaces the administrator's, and a later value an earlier one. err says what of them cannot be read.
func (p Places) clientConf() (conf clientConf, err error) {
	for _, path := range p.clientConfPaths() {
		err := conf.read(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		more, _ := os.ReadDir(path + ".d") // sorted
		for _, file := range more {
			if filepath.Ext(file.Name()) != ".conf" {
				continue
			}
			if failed := conf.read(filepath.Join(path+".d", file.Name())); !errors.Is(failed, fs.ErrNotExist) {
				err = cmp.Or(err, failed)
			}
		}
		conf.sets = conf.sets || err != nil
		return conf, err
	}
	return conf, nil
}

func (p Places) clientConfPaths() (paths []string) {
	if path := p.Env("PULSE_CLIENTCONFIG"); path != "" {
		return []string{path}
	}
	if dir := p.Env("PULSE_CONFIG_PATH"); dir != "" {
		paths = append(paths, filepath.Join(dir, "client.conf"))
	} else if home := p.Env("HOME"); home != "" { // the library does not look at XDG_CONFIG_HOME here
		paths = append(paths, filepath.Join(home, ".pulse", "client.conf"), filepath.Join(home, ".config", "pulse", "client.conf"))
	}
	if p.Etc != "" {
		paths = append(paths, filepath.Join(p.Etc, "pulse", "client.conf"))
	}
	return paths
}

// read adds what a file says. Like the library, it goes no further than the first line that is no setting, and does not see quotes.
func (c *clientConf) read(path string) error {
	text, err := readFile(path, maxClientConf)
	if err != nil {
		return err
	}
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		if i := strings.IndexAny(line, "#;"); i >= 0 {
			line = line[:i]
		}
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '[' {
			continue
		}
		c.sets = true
		key, value, ok := strings.Cut(line, "=")
		if !ok {
			return fmt.Errorf("%s:%d: %q has no '='", path, number, line)
		}
		value = strings.TrimSpace(value)
		switch strings.TrimSpace(key) {
		case "default-server":
			c.path, c.server = path, value
		case "cookie-file":
			c.cookie = value
		}
	}
	return nil
}
