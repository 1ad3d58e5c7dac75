//go:build !windows

package installation

// Listen does nothing: packages of other systems run commands as each user.
func Listen(func(Request)) error { return nil }
