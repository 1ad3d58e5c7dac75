package conform

import (
	"context"
	"errors"
	"net"
	"strings"

	"github.com/Microsoft/go-winio"
)

// checkIPCPath takes pipes of this machine only.
func checkIPCPath(path string) error {
	if !strings.HasPrefix(path, `\\.\pipe\`) && !strings.HasPrefix(path, `\\?\pipe\`) {
		return errors.New(`not a pipe of this machine, such as \\.\pipe\discord-ipc-0`)
	}
	return nil
}

func dialIPC(ctx context.Context, path string) (net.Conn, error) {
	return winio.DialPipeContext(ctx, path)
}
