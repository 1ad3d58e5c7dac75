// Package desktop does what a program of the user's session asks of the desktop: to show a file, to copy a text, to be started at
// each log-in. Where it is at home it knows from the environment that it is given.
package desktop

// Desktop is that of one user.
type Desktop struct {
	Getenv func(string) string
}

// Entry is a program that may be started at each log-in.
type Entry struct {
	ID      string   // names its file
	Name    string   // for people
	Command []string // with its arguments
}
