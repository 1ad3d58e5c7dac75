package wine

import (
	"sync"

	"golang.org/x/sys/windows"
)

// Is reports whether this Windows is Wine.
var Is = sync.OnceValue(func() bool {
	return windows.NewLazySystemDLL("ntdll.dll").NewProc("wine_get_version").Find() == nil
})
