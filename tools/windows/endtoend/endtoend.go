// Package endtoend tests the agent for Windows as a whole: its programs under Wine, with clients under Wine and on Linux.
package endtoend
