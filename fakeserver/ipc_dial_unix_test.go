//go:build unix

package fakeserver

import (
	"context"
	"net"
)

func dialEndpoint(ctx context.Context, path string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, "unix", path)
}
