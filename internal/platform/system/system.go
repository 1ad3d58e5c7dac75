// Package system identifies the operating system, measures what this process uses of it, and replaces this process with another program.
package system
