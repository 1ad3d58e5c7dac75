package system

import "golang.org/x/sys/windows"

// LoadDLLsOfSystemOnly has a DLL that is asked for by its name looked for in the system's folder, and neither in the program's nor in the
// present one, where anybody may have put another of that name. Programs begin with it, before anything loads one.
func LoadDLLsOfSystemOnly() {
	_ = windows.SetDefaultDllDirectories(windows.LOAD_LIBRARY_SEARCH_SYSTEM32) // only Windows 7 lacks it, where nothing of this runs
}
