// Package scm configures what Windows' service manager keeps of the agent's service beside its command: what to do when the service
// fails, and which privileges it needs. Both 'service install' and the package for Windows Installer use it.
package scm
