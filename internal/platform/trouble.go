package platform

import (
	"errors"
	"io/fs"
	"net"

	"sidetone/internal/health"
)

// Trouble wraps an error in the condition health.AccessDenied if permission was denied, else in that of code.
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
