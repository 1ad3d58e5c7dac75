// Package scm is what Windows' service manager keeps of the agent's service beside its command: what it does when the service fails,
// and of which privileges it takes none away. 'service install' sets it, and so does the package for Windows Installer.
package scm
