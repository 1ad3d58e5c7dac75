package platform

import (
	"errors"
	"io/fs"
	"net"

	"sidetone/internal/health"
)

// Trouble makes of an error the condition that it is: that this user may not read something, else code.
func Trouble(err error, code health.Code, args health.Args) *health.Error {
	if !errors.Is(err, fs.ErrPermission) {
		return health.Wrap(err, code, health.Warning, args)
	}
	where := health.Args{}
	var file *fs.PathError
	var socket *net.OpError
	switch {
	case errors.As(err, &file):
		where["path"] = file.Path
	case errors.As(err, &socket) && socket.Addr != nil:
		where["path"] = socket.Addr.String()
	}
	return health.Wrap(err, health.AccessDenied, health.Warning, where)
}
