package world

import (
	"sidetone/fakeserver"
	"sidetone/internal/rpcclient"
)

// maxLate is how long after its start a client may open its last door, in ms.
const maxLate = 200_000

func drawReporting(g *generator) Reporting {
	return Reporting{
		Sight:  pick(g, SeesAll, SeesAll, SeesAll, SeesUsers, SeesSockets, SeesNothing),
		OnExit: pick(g, "", rpcclient.ExitClear, rpcclient.ExitUnmute, rpcclient.ExitLeave),
		First:  g.one(12),
	}
}

func drawClient(g *generator) ClientSpec {
	const a, b, c = fakeserver.Desktop, fakeserver.Documented, fakeserver.ArRPC
	const d, e, f = fakeserver.Squatter, fakeserver.Blackhole, fakeserver.Flaky
	k := ClientSpec{
		Profile: pick(g, a, a, a, a, a, a, a, b, b, c, d, e, f),
		Foreign: g.one(10), Hidden: g.one(5), Relay: g.one(4), Shares: g.one(8),
		NoSocket: g.one(6), SlowGet: g.one(4), Unspecified: g.one(6), Off: g.one(4),
	}
	k.NoPort = !k.NoSocket && g.one(6)
	switch g.IntN(4) {
	case 0:
		k.PortLate = 1 + g.IntN(3000)
	case 1:
		k.SocketLate = pick(g, 1+g.IntN(20_000), 1+g.IntN(60_000), maxLate/2+g.IntN(maxLate/2)) // also when the first request has been given up
	}
	switch {
	case k.SocketLate > 0 && g.one(2): // it is not awake yet
		k.Fault = "1*http/no-answer"
	case g.one(6):
		k.Fault = pick(g, "1*no-answer", "1*http/no-answer", "1*hang", "3*offline", "2*login", "1*ready-never",
			"2*answer-late=8s", "2*error=1000:Unknown Error")
	}
	if k.Shares { // it is shown as that is
		k.Foreign, k.Hidden, k.Relay = false, false, false
	}
	if k.Profile == d { // it has no socket
		k.Shares = false
		k.NoSocket, k.NoPort = true, false
	}
	return k
}

// drawClients draws the programs that are there.
func drawClients(g *generator) []ClientSpec {
	list := []ClientSpec{drawClient(g)}
	for n := g.IntN(3); len(list) <= n; {
		k := drawClient(g)
		before := &list[len(list)-1]
		k.Shares = k.Shares && before.Profile != fakeserver.Squatter
		if k.Shares { // what is not seen to be two has all doors, at once
			for _, s := range []*ClientSpec{&k, before} {
				s.NoSocket, s.NoPort, s.PortLate, s.SocketLate = false, false, 0, 0
			}
		}
		list = append(list, k)
	}
	list[0].Shares = false
	if g.one(4) { // another user may log in
		list = append(list, ClientSpec{Profile: fakeserver.Desktop, Foreign: true, NoSocket: g.one(2), Off: true})
	}
	return list
}

// faults are what may befall a client, as fakeserver writes them.
var faults = []string{
	"no-answer", "1*no-answer", "1*http/no-answer", "1*ipc/no-answer", "hang", "offline", "login", "answer-late=3s", "answer-late=8s",
	"close-after=2", "refuse", "error=1000:Unknown Error", "ready-late=3s", "ready-never", "1*die",
}

// drawClientSteps draws what happens to so many clients, and to what reports to them.
func drawClientSteps(g *generator, clients, steps int, set Reporting) []ClientStep {
	var list []ClientStep
	for range steps {
		s := ClientStep{Client: g.IntN(clients), After: pick(g, g.IntN(100), g.IntN(2000), g.IntN(2000), g.IntN(8000), g.IntN(40_000))}
		s.Do = pick(g, Publish, Publish, Publish, Publish, ClientFreezes, ClientFreezes, ClientThaws, ClientThaws, Configure, Configure,
			ClientStart, ClientStart, ClientStop, ClientKill, ClientMoves, ClientFault, ClientFault, ClientMended, ClientMended,
			ClientDrops, ClientSpends, Resend, StopAgent, StartAgent)
		switch s.Do {
		case ClientFault:
			s.Fault = pick(g, faults...)
		case Configure: // often more than once, and a list soon after
			for n := range pick(g, 1, 1, 2, 3) {
				set.Timing++
				if g.one(3) {
					set.OnExit = drawReporting(g).OnExit
				}
				if g.one(2) {
					set.Without = pick(g, "", rpcclient.WebSocket, rpcclient.HTTP)
				}
				next := set
				s.Reporting = &next
				if n > 0 {
					s.After = g.IntN(2000)
				}
				list = append(list, s)
			}
			s = ClientStep{Do: Publish, After: g.IntN(2000)}
		case ClientFreezes: // mostly while something changes, and for a while
			rounds := pick(g, 0, 1, 1, 1, 2, 3, 4)
			for n := range rounds {
				list = append(list, s, ClientStep{Do: Publish, After: g.IntN(3000)})
				s = ClientStep{Do: ClientThaws, Client: s.Client, After: pick(g, g.IntN(10_000), 5000+g.IntN(5000), g.IntN(30_000))}
				if n < rounds-1 {
					list = append(list, s)
					s = ClientStep{Do: ClientFreezes, Client: s.Client, After: g.IntN(5000)}
				}
			}
		case ClientSpends: // mostly all that there are
			for range g.IntN(4) {
				list = append(list, s)
				s.After = g.IntN(100)
			}
		case ClientKill, ClientStop: // others may be quick to take its port, most of all just after it was told something
			if g.one(2) {
				told := ClientStep{Do: Publish, After: s.After}
				s.After = g.IntN(2000)
				list = append(list, told, s, ClientStep{Do: ClientStart, Client: pick(g, g.IntN(clients), clients-1)})
				s = ClientStep{Do: Publish, After: g.IntN(8000)}
			}
		}
		if s.Do == ClientFault && g.one(3) { // it has it from its start
			list = append(list, s)
			s = ClientStep{Do: ClientStart, Client: s.Client, After: g.IntN(2000)}
		}
		list = append(list, s)
	}
	for i := range clients { // mostly all is well at the end
		if !g.one(8) {
			list = append(list,
				ClientStep{Do: ClientThaws, Client: i, After: g.IntN(2000)},
				ClientStep{Do: ClientMended, Client: i, After: g.IntN(2000)})
		}
	}
	return append(list, ClientStep{Do: StartAgent})
}
