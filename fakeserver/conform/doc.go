// Package conform tests how a local RPC server behaves, and compares that with
// two models: the platform's written specification, and the desktop client that
// users run. The server may be that client, a re-implementation of it, or the
// fakeserver of this repository.
//
//	report, err := conform.Run(ctx, conform.Target{URL: "http://127.0.0.1:6463"}, conform.Options{})
//	...
//	fmt.Print(report.Text())
//
// A client lets only a few requests through at once; the others wait in line
// (rule R67 of docs/protocol.md). So a run counts the tokens that it has spent,
// and only reports silence if the server had no reason to queue.
//
// Servers may behave badly: each check has its own deadline, reads a bounded
// number of bytes, and has a result whatever comes.
package conform
