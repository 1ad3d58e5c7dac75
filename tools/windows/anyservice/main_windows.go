// Command anyservice is the agent's service for tests under Wine, which has no access control lists: it starts programs that anybody may
// change.
package main

import (
	"os"

	"sidetone/internal/supervise"
)

func main() {
	if supervise.RunService(os.Args[1:], func(string) error { return nil }) != nil {
		os.Exit(1)
	}
}
