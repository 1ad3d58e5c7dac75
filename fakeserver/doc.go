// Package fakeserver is a stand-in for the local RPC server of the Discord
// client: the peer a device agent reports its certified devices to with
// SET_CERTIFIED_DEVICES, over HTTP or WebSocket on 127.0.0.1, or over a unix
// socket or named pipe (IPC).
//
// It is meant for tests, demonstrations, benchmarks and vendors' labs. It
// accepts what the client accepts, refuses what the client refuses and says
// why with the JSON path at fault, keeps every payload it was sent with the
// moment it arrived, and misbehaves on demand (see [Fault]).
//
// What it stands in for is its [Profile]. [Documented], the default, is the
// client as the written specification has it. [Desktop] is the one that users
// run, which differs: a WebSocket needs a registered origin and may still not
// use the command, and a third request within 30 s waits in line ([Options.Bucket]).
// The others are what else can be met on the client's ports and sockets. To
// stand in for several clients at once, start several servers.
//
// Two habits of the real client are not copied: before it tries the next port
// it waits 1 s, and it never gives up; [Start] tries each port once.
//
//	srv, err := fakeserver.Start(fakeserver.Options{Ports: []int{0}})
//	...
//	defer srv.Close()
//	payload, err := srv.WaitPayload(ctx, 0)
//
// An idle server does nothing: no timers, no pings, no polling. A timer runs
// while a request waits in line, an answer is late, or a connection to [Desktop]
// has not come to READY. With a [Network] in memory, a server works in a bubble
// of testing/synctest.
//
// The numbered rules in comments are those of docs/protocol.md. This package shares no code
// with the agent, so that each checks the other's reading of them.
package fakeserver
