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

// childLister starts this program once more for each list. Neither libpulse nor the 30 libraries that it loads can
// be unloaded, and they take as much memory as all that the agent has allocated. And a call into them
// that hangs can be ended only with its process.
type childLister struct{}

var hasChildMode atomic.Bool

// ServeChild is to be called at the start of a program that reads audio endpoints. If the program was started
// to enumerate them, it does that and exits. If not, it will be started so; without this call
// it enumerates by itself.
func ServeChild() {
	if len(os.Args) != 3 || os.Args[1] != childArgument {
		hasChildMode.Store(true)
		return
	}
	time.AfterFunc(miniaudioTimeout, func() { os.Exit(1) }) // its parent may be gone
	list, err := malgoLister{malgoBackend()}.list(os.Args[2])
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(list)
	}
	if err != nil {
		fmt.Fprint(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func (childLister) list(server string) (list []enumeratedDevice, err error) {
	program := "/proc/self/exe" // also after an update has replaced the file
	if runtime.GOOS != "linux" {
		if program, err = os.Executable(); err != nil {
			return nil, fmt.Errorf("miniaudio: %w", err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*miniaudioTimeout)
	defer cancel()
	var said bytes.Buffer
	child := exec.CommandContext(ctx, program, childArgument, server)
	child.Stderr = &said
	out, err := child.Output()
	switch text := strings.TrimSpace(said.String()); {
	case err != nil && text != "":
		return nil, errors.New(text)
	case err != nil:
		return nil, fmt.Errorf("miniaudio: enumerate in a process of its own: %w", err)
	}
	if err := json.Unmarshal(out, &list); err != nil {
		return nil, fmt.Errorf("miniaudio: the list of its process: %w", err)
	}
	return list, nil
}
