package main

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"sidetone/fakeserver"
)

const maxServers = 100

// parseProfiles reads profiles of the form [N*]NAME and repeats each N times. The default is
// one documented client.
func parseProfiles(texts []string) ([]fakeserver.Profile, error) {
	if len(texts) == 0 {
		return []fakeserver.Profile{fakeserver.Documented}, nil
	}
	var list []fakeserver.Profile
	for _, text := range texts {
		count, name := 1, text
		if times, rest, ok := strings.Cut(text, "*"); ok {
			n, err := strconv.Atoi(times)
			if err != nil || n < 1 {
				return nil, fmt.Errorf("%q: %q is not a number of servers", text, times)
			}
			count, name = n, rest
		}
		profile, err := fakeserver.ParseProfile(name)
		if err != nil {
			return nil, err
		}
		if count > maxServers-len(list) {
			return nil, fmt.Errorf("%q: more than %d servers", text, maxServers)
		}
		list = append(list, slices.Repeat([]fakeserver.Profile{profile}, count)...)
	}
	return list, nil
}

// clientName names the servers after the builds of the client that can run at once.
func clientName(i int) string {
	if builds := []string{"Stable", "PTB", "Canary"}; i < len(builds) {
		return builds[i]
	}
	return fmt.Sprintf("client-%d", i+1)
}

// clientIPCDir is the folder of the client's IPC socket.
func clientIPCDir() string {
	if runtime.GOOS == "windows" {
		return `\\.\pipe`
	}
	for _, name := range []string{"XDG_RUNTIME_DIR", "TMPDIR", "TMP", "TEMP"} {
		if dir := os.Getenv(name); dir != "" {
			return dir
		}
	}
	return "/tmp"
}
