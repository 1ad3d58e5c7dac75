// Package desktop does what a program of the user's session asks of the desktop: to show a file, to copy a text, to be started at
// each log-in. Where it is at home it knows from the environment that it is given.
package desktop

// Desktop is that of one user.
type Desktop struct {
	Getenv func(string) string
}
