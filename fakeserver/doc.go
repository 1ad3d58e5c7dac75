// Package fakeserver is a stand-in for the local RPC server of the Discord
// client: the peer a device agent reports its certified devices to with
// SET_CERTIFIED_DEVICES, over HTTP or WebSocket on 127.0.0.1.
//
// It is meant for tests, demonstrations, benchmarks and vendors' labs. It
// accepts what the client accepts, refuses what the client refuses and says
// why with the JSON path at fault, keeps every payload it was sent with the
// moment it arrived, and misbehaves on demand (see [Fault]).
//
//	srv, err := fakeserver.Start(fakeserver.Options{Ports: []int{0}})
//	...
//	defer srv.Close()
//	payload, err := srv.WaitPayload(ctx, 0)
//
// An idle server does nothing: no timers, no pings, no polling.
//
// The numbered rules in comments are those of docs/protocol.md. This package shares no code
// with the agent, so that each checks the other's reading of them.
package fakeserver
