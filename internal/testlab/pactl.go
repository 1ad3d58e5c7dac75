package testlab

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
)

const pactlLimit = 10 * time.Second

// pactl runs the servers' own control program and returns what it prints.
func (s *SoundServer) pactl(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, pactlLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "pactl", args...)
	cmd.Env = s.ownEnv()
	cmd.WaitDelay = time.Second
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("no answer: %w", ctx.Err())
		}
		return "", fmt.Errorf("testlab: pactl %s on the private %s: %w: %s",
			strings.Join(args, " "), s.kind, err, bytes.TrimSpace(complaint.Bytes()))
	}
	return out.String(), nil
}

// LoadModule loads a module of the server and returns its index. The caller quotes arguments with
// several words or properties: double quotes inside single quotes work everywhere, backslashes do not.
func (s *SoundServer) LoadModule(ctx context.Context, name string, args ...string) (uint32, error) {
	out, err := s.pactl(ctx, append([]string{"load-module", name}, args...)...)
	if err != nil {
		return 0, err
	}
	index, err := strconv.ParseUint(strings.TrimSpace(out), 10, 32)
	if err != nil {
		return 0, fmt.Errorf("testlab: load %s: pactl answered %q instead of an index", name, out)
	}
	return uint32(index), nil
}

// UnloadModule unloads a module.
func (s *SoundServer) UnloadModule(ctx context.Context, index uint32) error {
	_, err := s.pactl(ctx, "unload-module", strconv.FormatUint(uint64(index), 10))
	return err
}

// listed counts the devices of these names that the server lists.
func (s *SoundServer) listed(ctx context.Context, names ...string) (int, error) {
	out, err := s.pactl(ctx, "list", "short")
	if err != nil {
		return 0, err
	}
	count := 0
	for line := range strings.Lines(out) {
		if fields := strings.Split(line, "\t"); len(fields) > 1 && slices.Contains(names, fields[1]) {
			count++
		}
	}
	return count, nil
}

// SetDefaultSource sets the default source. PipeWire's session manager occasionally loses the request
// during another change, so it is checked and repeated.
func (s *SoundServer) SetDefaultSource(ctx context.Context, name string) error {
	return s.waitFor(ctx, "take "+name+" for its default source", func(ctx context.Context) error {
		if _, err := s.pactl(ctx, "set-default-source", name); err != nil {
			return err
		}
		is, err := s.pactl(ctx, "get-default-source")
		if err == nil && strings.TrimSpace(is) != name {
			err = fmt.Errorf("it is %s", strings.TrimSpace(is))
		}
		return err
	})
}
