// Package camera lists the cameras of the operating system.
package camera
