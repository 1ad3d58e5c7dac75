package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// toolEnvironment tells the Go command, rustup and git where their files in the real home are: a build may use them,
// whatever it builds.
func toolEnvironment() ([]string, error) {
	found := map[string]string{}
	text, err := exec.Command("go", "env", "-json", "GOCACHE", "GOMODCACHE", "GOPATH", "GOENV").Output()
	if err == nil {
		err = json.Unmarshal(text, &found)
	}
	if err != nil {
		return nil, fmt.Errorf("ask the Go command for its folders (go env): %w", err)
	}
	git := os.Getenv("GIT_CONFIG_GLOBAL")
	if git == "" {
		git = filepath.Join(os.Getenv("HOME"), ".gitconfig")
	}
	if _, err := os.Stat(git); err != nil {
		git = os.DevNull
	}
	found["GIT_CONFIG_GLOBAL"] = git
	for name, folder := range map[string]string{"RUSTUP_HOME": ".rustup", "CARGO_HOME": ".cargo"} {
		folder = filepath.Join(os.Getenv("HOME"), folder)
		if _, err := os.Stat(folder); err == nil && os.Getenv(name) == "" {
			found[name] = folder
		}
	}
	var env []string
	for name, value := range found {
		env = append(env, name+"="+value)
	}
	return env, nil
}
