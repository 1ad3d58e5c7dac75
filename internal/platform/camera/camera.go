// Package camera lists the cameras of the operating system: New, of each system's file, returns them as a platform.Source.
package camera
