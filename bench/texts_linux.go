package main

const preamble = `# Results of make bench

Written by ` + "`make bench`" + `. The agent is the real program in a process of its own, the sound servers are
real and private, the client is ` + "`fakeserver`" + `. Every figure stands beside a baseline that was measured in
the same run on the same machine: the absolute figures are this machine's, the ratios are the claim.

The *bare path* is the least that could do the job: a process that reads the one source when the sound
server says that it has changed, and writes one message of the agent's size, prepared beforehand, on a
connection on which the client has said READY. It has no catalogue, no model, no state, no pacing, and waits
for no answer (but over HTTP, where the next request has to wait for it).

Where no transport is named, the client has an IPC socket and a port, as the desktop client has, and agent
and bare path use the socket.
`

const goBenchmarks = "```" + `

What needs no process beside it is a Go benchmark. Its target:

` + "```" + `
go test -run '^$' -bench Scan -benchtime 100x ./internal/rpcclient   # eleven ports: at most 10 connects; black holes are not waited for
go test -run '^$' -bench Replay ./internal/engine                    # at least 1000 times as fast as it happened
go test -run '^$' -bench Push ./internal/engine                      # ten times the endpoints: at most 13 times as long
go test -run '^$' -bench ResolveDiff ./internal/devices              # 100 × 100: at most 1 ms; ten times as much: at most 13 times as long
` + "```\n"
