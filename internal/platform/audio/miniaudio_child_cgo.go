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

// childArgument makes a program enumerate the endpoints of the server in the next argument.
const childArgument = "enumerate-with-miniaudio"

// childFailed is the exit code of a child that has printed why it failed.
const childFailed = 1

// childLister runs this program again for each list. Neither libpulse nor the 30 libraries that it loads can be unloaded, and they use as
// much memory as the rest of the agent; and a call into them that hangs can only be ended with its process.
type childLister struct {
	program string
	limit   time.Duration // the child is killed after that
}

func newChildLister() childLister {
	program := "/proc/self/exe" // works even if an update has replaced the file
	if runtime.GOOS != "linux" {
		program, _ = os.Executable() // if it fails, starting the child reports it
	}
	return childLister{program, 2 * miniaudioTimeout}
}

var hasChildMode atomic.Bool

// ServeChild must be called at the start of a program that reads audio endpoints. If the program was started as a child, it enumerates
// and exits. If not, later enumerations use children; without this call they run in this process.
func ServeChild() {
	if len(os.Args) != 3 || os.Args[1] != childArgument {
		hasChildMode.Store(true)
		return
	}
	time.AfterFunc(3*miniaudioTimeout, func() { os.Exit(childFailed) }) // the parent may be gone
	list, err := listWithMalgo(context.Background(), os.Args[2])
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
	child.WaitDelay = time.Second // a process of a library may keep the output open
	out, err := child.Output()
	var ended *exec.ExitError
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, errMiniaudioHangs
	case errors.As(err, &ended) && ended.ExitCode() == childFailed && said.Len() > 0:
		lines := strings.Split(strings.TrimSpace(said.String()), "\n") // libraries may have printed something before
		return nil, errors.New(lines[len(lines)-1])
	case err != nil: // it has printed a stack, or nothing
		return nil, fmt.Errorf("miniaudio: enumerate in a process of its own: %w", err)
	}
	if err := json.Unmarshal(out, &list); err != nil {
		return nil, fmt.Errorf("miniaudio: the list of its process: %w", err)
	}
	return list, nil
}
