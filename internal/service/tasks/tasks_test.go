package tasks

import (
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the golden files")

func TestTaskDefinitions(t *testing.T) {
	const program = `C:\Program Files\Acme & Sons\acme-agentw.exe`
	const arguments = `host run "--catalogue=C:\Program Files\Acme & Sons\acme.yaml" --vendor=acme`
	for file, user := range map[string]string{"testdata/acme-agent.task.xml": "", "testdata/acme-agent-user.task.xml": "S-1-5-21-1-2-3-1001"} {
		got := Text("acme-agent", user, program, arguments)
		if *update {
			require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
		}
		want, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, string(want), got, file)
		followsSchema(t, got)
		readProgram, readArguments, version, err := Parse(got)
		require.NoError(t, err)
		require.Equal(t, []string{program, arguments, Version}, []string{readProgram, readArguments, version})
	}
	_, _, _, err := Parse("<Task></Task>")
	require.ErrorContains(t, err, "starts 0 programs")
	_, _, _, err = Parse("<Task>")
	require.ErrorContains(t, err, "the task's definition")
}

// schema is what the Task Scheduler's schema ([MS-TSCH], appendix A, version 1.2) says of the elements that may be in a definition like
// ours: the children of each, in their order where there is one, or the values that it takes.
var schema = map[string]struct {
	children string // with the parent's place before them
	ordered  bool
	values   string // a regular expression
}{
	"Task":                       {children: "RegistrationInfo Triggers Principals Settings Data Actions"},
	"RegistrationInfo":           {children: "URI SecurityDescriptor Source Date Author Version Description Documentation"},
	"Version":                    {values: `\d+(\.\d+){0,3}`},
	"Description":                {values: `.*`},
	"Triggers":                   {children: triggersOfTask},
	"LogonTrigger":               {children: "Enabled StartBoundary EndBoundary Repetition ExecutionTimeLimit UserId Delay", ordered: true},
	"Principals":                 {children: "Principal"},
	"Principal":                  {children: "UserId LogonType GroupId DisplayName RunLevel"},
	"UserId":                     {values: `S(-\d+)+`},
	"GroupId":                    {values: `S(-\d+)+`},
	"LogonType":                  {values: `S4U|Password|InteractiveToken|InteractiveTokenOrPassword`},
	"RunLevel":                   {values: `LeastPrivilege|HighestAvailable`},
	"Settings":                   {children: settingsOfTask},
	"AllowHardTerminate":         {values: `true|false`},
	"AllowStartOnDemand":         {values: `true|false`},
	"DisallowStartIfOnBatteries": {values: `true|false`},
	"Enabled":                    {values: `true|false`},
	"ExecutionTimeLimit":         {values: `PT0S|P(\d+D)?(T(\d+H)?(\d+M)?(\d+S)?)?`},
	"MultipleInstancesPolicy":    {values: `Parallel|Queue|IgnoreNew|StopExisting`},
	"Priority":                   {values: `[0-9]|10`},
	"RestartOnFailure":           {children: "Interval Count"},
	"Interval":                   {values: `PT([1-9]|[1-5]\d)M`},              // PT1M at least
	"Count":                      {values: `[1-9]\d?|1\d\d|2[0-4]\d|25[0-5]`}, // an unsigned byte
	"StopIfGoingOnBatteries":     {values: `true|false`},
	"Actions":                    {children: "Exec ComHandler SendEmail ShowMessage"},
	"Exec":                       {children: "Command Arguments WorkingDirectory"},
	"Command":                    {values: `.{1,260}`},
	"Arguments":                  {values: `.*`},
}

const (
	triggersOfTask = "BootTrigger RegistrationTrigger IdleTrigger TimeTrigger EventTrigger LogonTrigger " +
		"SessionStateChangeTrigger CalendarTrigger"
	settingsOfTask = "AllowStartOnDemand RestartOnFailure MultipleInstancesPolicy DisallowStartIfOnBatteries StopIfGoingOnBatteries " +
		"AllowHardTerminate StartWhenAvailable NetworkProfileName RunOnlyIfNetworkAvailable WakeToRun Enabled Hidden " +
		"DeleteExpiredTaskAfter IdleSettings NetworkSettings ExecutionTimeLimit Priority RunOnlyIfIdle"
)

// followsSchema walks a definition: every element is one that its parent may have, at most once, and its text is one of its values.
func followsSchema(t *testing.T, text string) {
	t.Helper()
	_, body, _ := strings.Cut(text, "?>")
	d := xml.NewDecoder(strings.NewReader(body))
	type open struct {
		name, said string
		seen       []string
	}
	stack := []open{{name: "", seen: nil}}
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		top := &stack[len(stack)-1]
		switch token := token.(type) {
		case xml.StartElement:
			name := token.Name.Local
			require.Equal(t, "http://schemas.microsoft.com/windows/2004/02/mit/task", token.Name.Space, name)
			if top.name != "" {
				allowed := strings.Fields(schema[top.name].children)
				require.Contains(t, allowed, name, "in %s", top.name)
				require.NotContains(t, top.seen, name, "in %s", top.name)
				if schema[top.name].ordered && len(top.seen) > 0 {
					require.Greater(t, slices.Index(allowed, name), slices.Index(allowed, top.seen[len(top.seen)-1]), "the order in %s", top.name)
				}
			}
			top.seen = append(top.seen, name)
			stack = append(stack, open{name: name})
		case xml.CharData:
			top.said += string(token)
		case xml.EndElement:
			rule, known := schema[top.name]
			require.True(t, known, top.name)
			if rule.children == "" {
				require.Regexp(t, regexp.MustCompile(`^(?:`+rule.values+`)$`), top.said, top.name)
			} else {
				require.Empty(t, strings.TrimSpace(top.said), "text in %s", top.name)
			}
			stack = stack[:len(stack)-1]
		}
	}
	require.Equal(t, []string{"Task"}, stack[0].seen)
}
