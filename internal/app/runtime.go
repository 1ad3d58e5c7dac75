package app

import "runtime"

// TuneRuntime sets up the Go runtime of a process that is only the agent. GOMAXPROCS stays as the environment has
// it, if it does.
func TuneRuntime(getenv func(string) string) {
	// The goroutines from an event to a client's list run one after another. With more than one P, each wake-up could start a thread on
	// another core, which costs latency. One is enough, since the runtime takes it from a goroutine in a blocking system call.
	if getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(1)
	}
}
