// Package wasapitest is a stand-in for Windows' Core Audio within a test process. It has what Wine's lacks: containers, mutes set by
// others, hot-plug, effects, and failures of every kind. It tests how we call and are called, not Windows.
package wasapitest
