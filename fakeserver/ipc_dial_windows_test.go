package fakeserver

import (
	"context"
	"net"

	"github.com/Microsoft/go-winio"
)

func dialEndpoint(ctx context.Context, path string) (net.Conn, error) {
	return winio.DialPipeContext(ctx, path)
}
