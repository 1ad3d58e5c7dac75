// Package tasks is the task of Windows' Task Scheduler that starts an agent at log-in: what it says, and how it is registered and removed.
package tasks

import (
	"encoding/xml"
	"fmt"
	"strings"
)

// About is what the definition says of the agent, and what all other registrations of it say.
const About = "Tells the chat client which certified devices are there"

// task is the definition of a task that Windows starts at log-in. docs/service.md says why each line is as it is.
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

// Version is raised with each change of task, so that the next 'service install' writes it anew.
const Version = "1"

// users is the group of all who may log on.
const users = "S-1-5-32-545"

// Text is the definition of the task that starts the agent of that name for one user, by SID, or for all ("").
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

// Parse reads back what a task's definition starts, and of which version it is.
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
