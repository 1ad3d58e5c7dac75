// Package system says which operating system this is, for people who look for the cause of a fault.
package system
