// Package system says which operating system this is, for people who look for the cause of a fault, and what this process uses of it.
package system
