// Package session says whose process this is, and of which login session.
package session
