// Package wasapitest stands in for Windows' Core Audio within the process of a test, with what Wine's does not have: containers, mutes
// that others set, plugs, effects, and failures of every kind. It tests how we call and are called, not Windows.
package wasapitest
