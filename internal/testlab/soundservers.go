package testlab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

func (s *SoundServer) run(name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Env = s.ownEnv()
	cmd.Dir = s.dir
	cmd.Stdout, cmd.Stderr = &s.log, &s.log
	return s.group.start(cmd)
}

// startPulseAudio starts the server without its default script (-n), which would open the machine's
// own sound devices.
func (s *SoundServer) startPulseAudio() error {
	return s.run("pulseaudio", "-n", "--daemonize=no", "--exit-idle-time=-1", "--use-pid-file=no",
		"--high-priority=no", "--realtime=no", "--log-target=stderr", "--log-level=notice",
		"-L", "module-native-protocol-unix auth-anonymous=1 socket="+s.Socket(),
		"-L", "module-always-sink")
}

// startPipeWire starts the three programs of a PipeWire session and the session bus without
// which WirePlumber ends at once.
func (s *SoundServer) startPipeWire(ctx context.Context) error {
	for name, content := range pipeWireFiles(s.path("dbus")) {
		path := s.path(name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o600)); err != nil {
			return fmt.Errorf("write settings: %w", err)
		}
	}
	err := s.run("dbus-daemon", "--config-file="+s.path("dbus.conf"), "--nofork", "--nopidfile", "--nosyslog")
	if err = errors.Join(err, s.run("pipewire")); err != nil {
		return err
	}
	for _, socket := range []string{"dbus", "pipewire-0"} {
		if err := s.waitFor(ctx, "open its socket "+socket, s.listens(s.path(socket))); err != nil {
			return err
		}
	}
	return errors.Join(s.run("wireplumber"), s.run("pipewire-pulse"))
}

// busConfig returns the configuration of a private session bus, which starts no services.
func busConfig(socket string) string {
	return `<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <listen>unix:path=` + socket + `</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>
`
}

// pipeWireFiles returns the configuration of a private PipeWire session.
// WirePlumber must not open the machine's sound cards and cameras; versions 0.4 and 0.5 read that from
// different files.
func pipeWireFiles(bus string) map[string]string {
	return map[string]string{
		"dbus.conf": busConfig(bus),
		"config/wireplumber/main.lua.d/51-no-hardware.lua": `alsa_monitor.enabled = false
v4l2_monitor.enabled = false
libcamera_monitor.enabled = false
`,
		"config/wireplumber/bluetooth.lua.d/51-no-hardware.lua": "bluez_monitor.enabled = false\n",
		"config/wireplumber/wireplumber.conf.d/51-no-hardware.conf": `wireplumber.profiles = {
  main = {
    hardware.audio = disabled
    hardware.bluetooth = disabled
    hardware.video-capture = disabled
  }
}
`,
	}
}

// listens returns a check that a socket accepts connections.
func (s *SoundServer) listens(socket string) func(context.Context) error {
	return func(ctx context.Context) error {
		conn, err := new(net.Dialer).DialContext(ctx, "unix", socket)
		if err != nil {
			return err
		}
		return conn.Close()
	}
}

// answers checks that the server answers and has chosen its default devices, which is the last step of
// PipeWire's startup.
func (s *SoundServer) answers(ctx context.Context) error {
	info, err := s.info(ctx)
	if err == nil && (info.DefaultSinkName == "" || strings.HasPrefix(info.DefaultSinkName, "@")) {
		err = errors.New("no default sink yet")
	}
	return err
}

var errNotHere = errors.New("testlab: private sound servers run on Linux only")

// SoundAvailable returns nil if a server of this kind can be started here, otherwise an error with
// the missing programs and how to install them.
func SoundAvailable(kind SoundKind) error {
	if runtime.GOOS != "linux" {
		return errNotHere
	}
	return missing(kind, exec.LookPath)
}

// program is a program that a server needs, and its Debian package.
type program struct{ name, pkg string }

var programs = map[SoundKind][]program{
	PulseAudio: {{"pulseaudio", "pulseaudio"}},
	PipeWire: {
		{"pipewire", "pipewire"},
		{"wireplumber", "wireplumber"},
		{"pipewire-pulse", "pipewire-pulse"},
		{"dbus-daemon", "dbus"},
	},
}

// missing returns an error that names the programs that lookPath does not find.
func missing(kind SoundKind, lookPath func(string) (string, error)) error {
	needed, ok := programs[kind]
	if !ok {
		return fmt.Errorf("testlab: no kind of sound server is called %q, use one of %q", kind, SoundKinds)
	}
	var names, packages []string
	for _, p := range needed {
		if _, err := lookPath(p.name); err != nil {
			names = append(names, p.name)
			packages = append(packages, p.pkg)
		}
	}
	if names == nil {
		return nil
	}
	slices.Sort(packages)
	return fmt.Errorf("testlab: a private %s server needs %s: run `make deps`, or install the package(s) %s",
		kind, strings.Join(names, ", "), strings.Join(slices.Compact(packages), ", "))
}
