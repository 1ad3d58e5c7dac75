package tasks

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/platform/windows/com"
)

func TestTasksOfOthers(t *testing.T) {
	denied := inTasks("register", "acme", func(*com.Object) error { return errDenied })
	require.ErrorContains(t, denied, "another user has made it")
	task, err := Read("acme-of-nobody")
	require.NoError(t, err)
	require.Equal(t, Stored{}, task)
}
