// Package endtoend has the test of the agent for Windows as a whole: its programs under Wine, with clients in there and beside it.
package endtoend
