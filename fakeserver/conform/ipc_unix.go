//go:build !windows

package conform

import (
	"context"
	"errors"
	"net"
	"strings"
)

func checkIPCPath(path string) error {
	if !strings.Contains(path, "/") {
		return errors.New("not the path of a socket, such as $XDG_RUNTIME_DIR/discord-ipc-0")
	}
	return nil
}

func dialIPC(ctx context.Context, path string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "unix", path)
}
