package test

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// Nothing here runs PowerShell. What its snippet calls of .NET is what the one in C# calls, which is compiled.
func TestPowerShellCallsWhatCSharpCalls(t *testing.T) {
	names := func(path, pattern string) (found []string) {
		code, err := os.ReadFile(path)
		require.NoError(t, err)
		code = regexp.MustCompile(`(?m)(#|//) .*$`).ReplaceAll(code, nil)
		for _, m := range regexp.MustCompile(pattern).FindAllSubmatch(code, -1) {
			found = append(found, string(m[1]))
		}
		return found
	}
	compiled := append(names("../push.cs", `\b([A-Z]\w+)`), "Dispose") // which 'using' calls
	called := names("../push.ps1", `(?:::|\.)([A-Z]\w+)`)
	require.Greater(t, len(called), 20)
	for _, name := range called {
		require.True(t, slices.Contains(compiled, name), "%s is not in push.cs", name)
	}
}
