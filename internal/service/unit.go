package service

import (
	"fmt"
	"strings"

	"sidetone/internal/platform/desktop"
	"sidetone/internal/service/tasks"
	"sidetone/internal/supervise"
)

// unit is the systemd unit. docs/service.md explains each line, and those that are missing.
const unit = `# Written by '@NAME@ service install'. Changes belong into a drop-in: systemctl --user edit @NAME@
[Unit]
Description=@ABOUT@ (@NAME@)
After=pipewire-pulse.socket pulseaudio.socket
ConditionUser=!@system
ConditionUser=!gdm-greeter
ConditionPathExists=!/run/gdm/home/%u
ConditionPathExists=!/run/gdm3/home/%u
StartLimitIntervalSec=60
StartLimitBurst=10

[Service]
Type=notify
ExecStart=@COMMAND@
ExecReload=kill -HUP $MAINPID
Restart=on-failure
RestartSec=2
RestartPreventExitStatus=@FINAL@
WatchdogSec=240
TimeoutStartSec=30
TimeoutStopSec=5
KillMode=mixed
KeyringMode=private
UMask=0077
NoNewPrivileges=yes
LockPersonality=yes
MemoryDenyWriteExecute=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallFilter=~@resources @privileged
SystemCallErrorNumber=EPERM

[Install]
WantedBy=@WANTEDBY@
`

// wantedBy is the target that starts the agent.
const wantedBy = "default.target"

// Unit returns the text of the agent's systemd unit.
func (a Agent) Unit() string {
	words := []string{unitWord(a.Executable, true)}
	for _, arg := range a.Arguments {
		words = append(words, unitWord(arg, false))
	}
	return strings.NewReplacer("@NAME@", a.Name, "@ABOUT@", tasks.About, "@WANTEDBY@", wantedBy, "@COMMAND@", strings.Join(words, " "),
		"@FINAL@", fmt.Sprint(supervise.ExitConfig, supervise.ExitRunning)).Replace(unit)
}

// commandIn parses the ExecStart that Unit writes.
func commandIn(unit string) ([]string, error) {
	_, rest, _ := strings.Cut(unit, "\nExecStart=")
	line, _, _ := strings.Cut(rest, "\n")
	words, err := desktop.QuotedWords(line)
	for i := 1; i < len(words); i++ {
		words[i] = strings.ReplaceAll(words[i], "$$", "$")
	}
	return words, err
}

// unitWord quotes a word of a systemd command line, in which specifiers (%h) and, except in the program's path, variables ($HOME) would
// otherwise be expanded.
func unitWord(word string, program bool) string {
	word = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "%", "%%").Replace(word)
	if !program {
		word = strings.ReplaceAll(word, "$", "$$")
	}
	return `"` + word + `"`
}
