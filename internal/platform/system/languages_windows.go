package system

import "golang.org/x/sys/windows"

// Languages are those that the user prefers, the best first, as BCP 47 tags.
func Languages() []string {
	list, err := windows.GetUserPreferredUILanguages(windows.MUI_LANGUAGE_NAME)
	if err != nil {
		return nil // English it is
	}
	return list
}
