// Package fakeserver is a stand-in for the local RPC server of the Discord
// client, to which device agents report their certified devices with
// SET_CERTIFIED_DEVICES, over HTTP or WebSocket on 127.0.0.1, or over a unix
// socket or named pipe (IPC).
//
// It is meant for tests, demonstrations, benchmarks and vendors' labs. It
// accepts what the client accepts, refuses what the client refuses and names
// the invalid JSON path, records every payload with the time of its arrival,
// and misbehaves on demand (see [Fault]).
//
// Its [Profile] says what it stands in for. [Documented], the default, is the
// client as the written specification describes it. [Desktop] is the one that
// users run, which differs: a WebSocket needs a registered origin and may still
// not use the command, and a third request within 30 s waits in line
// ([Options.Bucket]). The others are other programs that use the client's ports
// and sockets. To stand in for several clients at once, start several servers.
//
// It differs from the real client in one respect: that waits 1 s before it
// tries the next port, and never gives up; [Start] tries each port once.
//
//	srv, err := fakeserver.Start(fakeserver.Options{Ports: []int{0}})
//	...
//	defer srv.Close()
//	payload, err := srv.WaitPayload(ctx, 0)
//
// An idle server does nothing: no timers, no pings, no polling. Timers run only
// while a request waits in line, an answer is late, or a connection to [Desktop]
// waits for READY. With a [Network] in memory, a server works in a bubble of
// testing/synctest.
//
// The numbered rules in comments are those of docs/protocol.md. This package
// shares no code with the agent, so that each checks the other's reading of them.
package fakeserver
