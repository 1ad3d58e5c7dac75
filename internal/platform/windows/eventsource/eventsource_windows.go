// Package eventsource registers the name by which a program's lines are in Windows' event log: else they are not shown in words.
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

// Exists reports whether Windows knows a source of that name, whosever it is. Every user may ask.
func Exists(name string) bool {
	key, err := open(name)
	if err == nil {
		_ = key.Close()
	}
	return err == nil
}

// IsOurs reports whether it is one as Register and our packages make it, which shows what supervise.EventLog writes in words.
func IsOurs(name string) bool {
	key, err := open(name)
	if err != nil {
		return false
	}
	defer key.Close()
	messages, _, err := key.GetStringValue("EventMessageFile")
	return err == nil && strings.EqualFold(filepath.Base(messages), "EventCreate.exe")
}

// Register makes the source. It takes an administrator, and that there is none of that name.
func Register(name string) error {
	if err := eventlog.InstallAsEventCreate(name, eventlog.Error|eventlog.Warning|eventlog.Info); err != nil {
		return fmt.Errorf("register the event log source %s: %w", name, err)
	}
	return nil
}

// Remove takes the source away, likewise.
func Remove(name string) error {
	if err := eventlog.Remove(name); err != nil {
		return fmt.Errorf("remove the event log source %s: %w", name, err)
	}
	return nil
}
