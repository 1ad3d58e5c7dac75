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
OnFailure=@NAME@-empty.service

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

// emptyUnit is the unit that systemd starts once it starts the agent no more: nobody watches what clients have.
const emptyUnit = `# Written by '@NAME@ service install'.
[Unit]
Description=@ABOUT@ (@NAME@), after its last failed start

[Service]
Type=oneshot
ExecStart=-@COMMAND@
TimeoutStartSec=20
UMask=0077
NoNewPrivileges=yes
`

// wantedBy is the target that starts the agent.
const wantedBy = "default.target"

// Unit returns the text of the agent's systemd unit.
func (a Agent) Unit() string { return a.fill(unit, a.Arguments) }

// EmptyUnit returns the text of the unit that empties clients' lists. It has the agent's settings.
func (a Agent) EmptyUnit() string {
	return a.fill(emptyUnit, append([]string{"empty"}, a.Arguments[1:]...))
}

func (a Agent) fill(unit string, arguments []string) string {
	words := []string{unitWord(a.Executable, true)}
	for _, arg := range arguments {
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
