// Package system says which operating system this is, for people who look for the cause of a fault, what this process uses of it, and lets
// another program take its place.
package system
