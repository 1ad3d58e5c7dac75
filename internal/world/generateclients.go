package world

import (
	"math/rand/v2"
	"slices"

	"sidetone/fakeserver"
	"sidetone/internal/rpcclient"
)

// maxLate is how long after its start a client may open its port or socket, in ms.
const maxLate = 200_000

// generateClients draws a scenario of clients alone.
func generateClients(seed uint64) scenario {
	g := &generator{rand.New(rand.NewPCG(seed, 2))}
	s := scenario{Seed: seed, Reporting: drawReporting(g), Clients: drawClients(g), Long: g.one(6)}
	s.Steps = drawClientSteps(g, len(s.Clients), pick(g, g.IntN(6), g.IntN(28)), s.Reporting)
	(&generator{rand.New(rand.NewPCG(seed, 4))}).replacements(&s, false)
	(&generator{rand.New(rand.NewPCG(seed, 5))}).siblings(s.Clients)
	sticks(&s, 6)
	(&generator{rand.New(rand.NewPCG(seed, 8))}).clocks(s.Steps)
	(&generator{rand.New(rand.NewPCG(seed, 7))}).refusals(s.Clients)
	(&generator{rand.New(rand.NewPCG(seed, 9))}).sandboxes(&s)
	return plain(s)
}

// siblings has some relays started beside their client. It has a random source of its own, as replacements.
func (g *generator) siblings(clients []clientSpec) {
	for i := range clients {
		clients[i].Sibling = g.one(2) && clients[i].Relay
	}
}

func drawReporting(g *generator) clientSettings {
	return clientSettings{
		Visibility: pick(g, seesAll, seesAll, seesAll, seesUsers, seesSockets, seesNothing),
		OnExit:     pick(g, "", rpcclient.ExitClear, rpcclient.ExitUnmute, rpcclient.ExitLeave),
		First:      g.one(12),
	}
}

func drawClient(g *generator) clientSpec {
	const a, b, c = fakeserver.Desktop, fakeserver.Documented, fakeserver.ArRPC
	const d, e, f = fakeserver.Squatter, fakeserver.Blackhole, fakeserver.Flaky
	k := clientSpec{
		Profile: pick(g, a, a, a, a, a, a, a, b, b, c, d, e, f),
		Foreign: g.one(10), Hidden: g.one(5), Relay: g.one(4), Shares: g.one(8),
		NoSocket: g.one(6), SlowGet: g.one(4), Unspecified: g.one(6), Off: g.one(4),
	}
	k.NoPort = !k.NoSocket && g.one(6)
	switch g.IntN(4) {
	case 0:
		k.PortLate = 1 + g.IntN(3000)
	case 1:
		k.SocketLate = pick(g, 1+g.IntN(20_000), 1+g.IntN(60_000), maxLate/2+g.IntN(maxLate/2)) // perhaps after the first request was given up
	}
	switch {
	case k.SocketLate > 0 && g.one(2): // it does not answer before it is ready
		k.Fault = "1*http/no-answer"
	case g.one(6):
		k.Fault = pick(g, "1*no-answer", "1*http/no-answer", "1*hang", "3*offline", "2*login", "1*ready-never",
			"2*answer-late=8s", "2*error=1000:Unknown Error")
	}
	if k.Shares { // the OS shows it like the client before it
		k.Foreign, k.Hidden, k.Relay = false, false, false
	}
	if k.Profile == d { // that has no socket
		k.Shares = false
		k.NoSocket, k.NoPort = true, false
	}
	return k
}

// drawClients draws the programs that may be clients.
func drawClients(g *generator) []clientSpec {
	list := []clientSpec{drawClient(g)}
	for n := g.IntN(3); len(list) <= n; {
		k := drawClient(g)
		before := &list[len(list)-1]
		k.Shares = k.Shares && before.Profile != fakeserver.Squatter
		if k.Shares { // clients that look like one open all ports and sockets at once
			for _, s := range []*clientSpec{&k, before} {
				s.NoSocket, s.NoPort, s.PortLate, s.SocketLate = false, false, 0, 0
			}
		}
		list = append(list, k)
	}
	list[0].Shares = false
	if g.one(4) { // another user may log in
		list = append(list, clientSpec{Profile: fakeserver.Desktop, Foreign: true, NoSocket: g.one(2), Off: true})
	}
	return list
}

// faults are the faults that a client may have, in the syntax of fakeserver.
var faults = []string{
	"no-answer", "1*no-answer", "1*http/no-answer", "1*ipc/no-answer", "hang", "offline", "login", "answer-late=3s", "answer-late=8s",
	"close-after=2", "refuse", "error=1000:Unknown Error", "ready-late=3s", "ready-never", "1*die",
}

// drawClientSteps draws what happens to the clients and the agent.
func drawClientSteps(g *generator, clients, steps int, set clientSettings) []scenarioStep {
	var list []scenarioStep
	for range steps {
		s := scenarioStep{Client: g.IntN(clients), After: pick(g, g.IntN(100), g.IntN(2000), g.IntN(2000), g.IntN(8000), g.IntN(40_000))}
		s.Do = pick(g, doPublish, doPublish, doPublish, doPublish, doClientFreezes, doClientFreezes, doClientThaws, doClientThaws,
			doConfigure, doConfigure,
			doClientStart, doClientStart, doClientStop, doClientKill, doClientMoves, doClientFault, doClientFault, doClientMended, doClientMended,
			doClientDrops, doClientSpends, doResend, doStopAgent, doStartAgent)
		switch s.Do {
		case doClientFault:
			list = append(list, g.fault(s)...)
		case doConfigure:
			list = append(list, g.reload(s, &set)...)
		case doClientFreezes:
			list = append(list, g.freezes(s)...)
		case doClientSpends: // often all of them
			for range g.IntN(4) {
				list = append(list, s)
				s.After = g.IntN(100)
			}
			list = append(list, s)
		case doClientKill, doClientStop:
			list = append(list, g.end(s, clients)...)
		default:
			list = append(list, s)
		}
	}
	for i := range clients { // most clients are well at the end
		if !g.one(8) {
			list = append(list, scenarioStep{Do: doClientThaws, Client: i, After: g.IntN(2000)},
				scenarioStep{Do: doClientMended, Client: i, After: g.IntN(2000)})
		}
	}
	return append(list, scenarioStep{Do: doStartAgent})
}

// fault gives a client a fault, and sometimes restarts it then.
func (g *generator) fault(s scenarioStep) []scenarioStep {
	s.Fault = pick(g, faults...)
	if g.one(3) {
		return []scenarioStep{s, {Do: doClientStart, Client: s.Client, After: g.IntN(2000)}}
	}
	return []scenarioStep{s}
}

// reload changes the settings, often several times, and publishes a list soon after.
func (g *generator) reload(s scenarioStep, set *clientSettings) (list []scenarioStep) {
	for n := range pick(g, 1, 1, 2, 3) {
		set.Timing++
		if g.one(3) {
			set.OnExit = drawReporting(g).OnExit
		}
		if g.one(2) {
			set.Without = pick(g, "", rpcclient.WebSocket, rpcclient.HTTP)
		}
		s.Reporting = new(*set)
		if n > 0 {
			s.After = g.IntN(2000)
		}
		list = append(list, s)
	}
	return append(list, scenarioStep{Do: doPublish, After: g.IntN(2000)})
}

// freezes freezes a client, mostly while the list changes, and thaws it.
func (g *generator) freezes(s scenarioStep) (list []scenarioStep) {
	rounds := pick(g, 0, 1, 1, 1, 2, 3, 4)
	if rounds == 0 {
		return []scenarioStep{s}
	}
	for n := range rounds {
		if n > 0 {
			s = scenarioStep{Do: doClientFreezes, Client: s.Client, After: g.IntN(5000)}
		}
		list = append(list, s, scenarioStep{Do: doPublish, After: g.IntN(3000)},
			scenarioStep{Do: doClientThaws, Client: s.Client, After: pick(g, g.IntN(10_000), 5000+g.IntN(5000), g.IntN(30_000))})
	}
	return list
}

// end ends a client, sometimes just after it was sent a list, and before another client takes its port.
func (g *generator) end(s scenarioStep, clients int) []scenarioStep {
	if !g.one(2) {
		return []scenarioStep{s}
	}
	told := scenarioStep{Do: doPublish, After: s.After}
	s.After = g.IntN(2000)
	return []scenarioStep{
		told, s, {Do: doClientStart, Client: pick(g, g.IntN(clients), clients-1)}, {Do: doPublish, After: g.IntN(8000)},
	}
}

// refusals has some clients refuse lists by their content. It has a random source of its own, as replacements.
func (g *generator) refusals(clients []clientSpec) {
	for i := range clients {
		switch k := &clients[i]; {
		case !g.one(5):
		case g.one(4):
			k.Most = 1 + g.IntN(2)
		default:
			k.RefusedText = pick(g,
				`"hardware_mute":true`, `"hardware_mute":false`, `"noise_suppression"`, `"audiooutput"`, `"echo.`, "Model 2", "Acme 0", "#2")
		}
	}
}

// sandboxes has a client run in a sandbox, and another program there after it. It has a random source of its own, as replacements.
func (g *generator) sandboxes(s *scenario) {
	if len(s.Clients) == 0 || !g.one(6) || s.Clients[0].Profile == fakeserver.Squatter || len(s.Clients) > 1 && s.Clients[1].Shares {
		return
	}
	next := drawClient(g)
	next.Profile = pick(g, fakeserver.Desktop, fakeserver.Desktop, fakeserver.ArRPC, fakeserver.Blackhole)
	next.Off = true
	s.Clients = append(s.Clients, next)
	last := len(s.Clients) - 1
	for _, k := range []*clientSpec{&s.Clients[0], &s.Clients[last]} {
		k.Sandboxed, k.NoPort, k.PortLate = true, true, 0
		k.Foreign, k.Hidden, k.Relay, k.Sibling, k.Shares, k.NoSocket = false, false, false, false, false, false
	}
	at := g.IntN(len(s.Steps) + 1)
	for range 1 + g.IntN(2) {
		s.Steps = slices.Insert(s.Steps, at,
			scenarioStep{Do: doClientStart, After: g.IntN(20_000)},
			scenarioStep{Do: pick(g, doClientStop, doClientKill), After: 2000 + g.IntN(20_000)},
			scenarioStep{Do: doClientStart, Client: last, After: pick(g, g.IntN(1000), g.IntN(20_000), g.IntN(400_000))})
	}
}
