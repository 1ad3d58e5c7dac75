// Package guest holds the tests that run inside the virtual machine of "make vmtest": real kernel drivers, udev and a sound
// server, on USB devices emulated by fakeusbd and HID devices made by fakehid. They run in a login session of an ordinary
// user, who may use what logind hands to the seat's user and nothing else. They are built with the tag vmtest and need the
// machine of tools/vm; without the tag the package is empty, so that "go test ./..." passes them by.
package guest
