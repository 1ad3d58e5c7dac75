// Package wasapitest stands in for Windows' Core Audio within the process of a test, and has what Wine's lacks: containers, mutes set by
// other programs, plugging, effects, and failures of every kind. It tests how we call and are called, not Windows.
package wasapitest
