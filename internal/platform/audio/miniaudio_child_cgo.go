//go:build cgo

package audio

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"time"
)

// childArgument has a program enumerate the endpoints of the server that is named behind it.
const childArgument = "enumerate-with-miniaudio"

// childFailed is the exit code of one that has said why it could not.
const childFailed = 1

// childLister starts this program once more for each list. Neither libpulse nor the 30 libraries that it loads can
// be unloaded, and they take as much memory as all that the agent has allocated. And a call into them
// that hangs can be ended only with its process.
type childLister struct {
	program string
	limit   time.Duration // after which it is killed
}

func newChildLister() childLister {
	program := "/proc/self/exe" // also after an update has replaced the file
	if runtime.GOOS != "linux" {
		program, _ = os.Executable() // if it has no name, starting it says so
	}
	return childLister{program, 2 * miniaudioTimeout}
}

var hasChildMode atomic.Bool

// ServeChild is to be called at the start of a program that reads audio endpoints. If the program was started
// to enumerate them, it does that and exits. If not, it will be started so; without this call
// it enumerates by itself.
func ServeChild() {
	if len(os.Args) != 3 || os.Args[1] != childArgument {
		hasChildMode.Store(true)
		return
	}
	time.AfterFunc(3*miniaudioTimeout, func() { os.Exit(childFailed) }) // whoever was to end it may be gone
	list, err := malgoLister{malgoBackend()}.list(context.Background(), os.Args[2])
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(list)
	}
	if err != nil {
		fmt.Fprint(os.Stderr, err)
		os.Exit(childFailed)
	}
	os.Exit(0)
}

func (c childLister) list(ctx context.Context, server string) (list []enumeratedDevice, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.limit)
	defer cancel()
	var said bytes.Buffer
	child := exec.CommandContext(ctx, c.program, childArgument, server)
	child.Stderr = &said
	child.WaitDelay = time.Second // a library may have started a process that keeps the output open
	out, err := child.Output()
	var ended *exec.ExitError
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, errMiniaudioHangs
	case errors.As(err, &ended) && ended.ExitCode() == childFailed && said.Len() > 0:
		lines := strings.Split(strings.TrimSpace(said.String()), "\n") // libraries may have talked before
		return nil, errors.New(lines[len(lines)-1])
	case err != nil: // what it said is a stack, or nothing
		return nil, fmt.Errorf("miniaudio: enumerate in a process of its own: %w", err)
	}
	if err := json.Unmarshal(out, &list); err != nil {
		return nil, fmt.Errorf("miniaudio: the list of its process: %w", err)
	}
	return list, nil
}
