// Package tasks defines, registers and removes the task of Windows' Task Scheduler that starts an agent at log-in.
package tasks

import (
	"encoding/xml"
	"fmt"
	"strings"
)

// About describes the agent, here and in all its other registrations.
const About = "Tells the chat client which certified devices are there"

// task is the definition of a task that runs at log-in. docs/service.md explains each line.
const task = `<?xml version="1.0" encoding="UTF-16"?>
<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">
  <RegistrationInfo>
    <Version>@VERSION@</Version>
    <Description>@ABOUT@ (@NAME@)</Description>
  </RegistrationInfo>
  <Triggers>
    <LogonTrigger>
      <Enabled>true</Enabled>@TRIGGER@
    </LogonTrigger>
  </Triggers>
  <Principals>
    <Principal id="Author">
      @WHO@
      <RunLevel>LeastPrivilege</RunLevel>
    </Principal>
  </Principals>
  <Settings>
    <AllowHardTerminate>true</AllowHardTerminate>
    <AllowStartOnDemand>true</AllowStartOnDemand>
    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>
    <Enabled>true</Enabled>
    <ExecutionTimeLimit>PT0S</ExecutionTimeLimit>
    <MultipleInstancesPolicy>Parallel</MultipleInstancesPolicy>
    <Priority>5</Priority>
    <RestartOnFailure>
      <Count>255</Count>
      <Interval>PT1M</Interval>
    </RestartOnFailure>
    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>
  </Settings>
  <Actions Context="Author">
    <Exec>
      <Command>@COMMAND@</Command>
      <Arguments>@ARGUMENTS@</Arguments>
    </Exec>
  </Actions>
</Task>
`

// Version increases with each change of task, so that the next 'service install' writes it again.
const Version = "1"

// users is the SID of the group of all local users.
const users = "S-1-5-32-545"

// Text returns the definition of the task that starts the agent of that name for one user, by SID, or for all ("").
func Text(agent, user, program, arguments string) string {
	who, trigger := "<GroupId>"+users+"</GroupId>", ""
	if user != "" {
		who = "<UserId>" + user + "</UserId>\n      <LogonType>InteractiveToken</LogonType>"
		trigger = "\n      <UserId>" + user + "</UserId>"
	}
	return strings.NewReplacer("@VERSION@", Version, "@ABOUT@", About, "@NAME@", inXML(agent), "@TRIGGER@", trigger, "@WHO@", who,
		"@COMMAND@", inXML(program), "@ARGUMENTS@", inXML(arguments)).Replace(task)
}

func inXML(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a Builder takes everything
	return b.String()
}

// Parse returns what a task's definition starts, and its version.
func Parse(text string) (command, arguments, version string, err error) {
	var read struct {
		Version string                                `xml:"RegistrationInfo>Version"`
		Exec    []struct{ Command, Arguments string } `xml:"Actions>Exec"`
	}
	if _, body, is := strings.Cut(text, "?>"); is {
		text = body // that was UTF-16 once
	}
	if err := xml.Unmarshal([]byte(text), &read); err != nil {
		return "", "", "", fmt.Errorf("the task's definition: %w", err)
	}
	if len(read.Exec) != 1 {
		return "", "", "", fmt.Errorf("the task's definition starts %d programs, which is not ours", len(read.Exec))
	}
	return read.Exec[0].Command, read.Exec[0].Arguments, read.Version, nil
}
