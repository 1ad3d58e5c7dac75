// Package eventsource registers a program's source in Windows' event log; without it the log does not show the text of events.
package eventsource

import (
	"fmt"
	"path/filepath"
	"strings"

	"golang.org/x/sys/windows/registry"
	"golang.org/x/sys/windows/svc/eventlog"
)

func open(name string) (registry.Key, error) {
	return registry.OpenKey(registry.LOCAL_MACHINE, `SYSTEM\CurrentControlSet\Services\EventLog\Application\`+name, registry.QUERY_VALUE)
}

// Exists reports whether a source of that name is registered, by whomever. Every user may ask.
func Exists(name string) bool {
	key, err := open(name)
	if err == nil {
		_ = key.Close()
	}
	return err == nil
}

// IsOurs reports whether it is registered as Register and our packages do it, so that the log shows what supervise.EventLog writes.
func IsOurs(name string) bool {
	key, err := open(name)
	if err != nil {
		return false
	}
	defer key.Close()
	messages, _, err := key.GetStringValue("EventMessageFile")
	return err == nil && strings.EqualFold(filepath.Base(messages), "EventCreate.exe")
}

// Register registers the source. It needs an administrator, and the name must be free.
func Register(name string) error {
	if err := eventlog.InstallAsEventCreate(name, eventlog.Error|eventlog.Warning|eventlog.Info); err != nil {
		return fmt.Errorf("register the event log source %s: %w", name, err)
	}
	return nil
}

// Remove removes the source. It needs an administrator.
func Remove(name string) error {
	if err := eventlog.Remove(name); err != nil {
		return fmt.Errorf("remove the event log source %s: %w", name, err)
	}
	return nil
}
