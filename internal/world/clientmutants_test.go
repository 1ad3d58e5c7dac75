package world

// clientMutants are mistakes in what concerns clients.
var clientMutants = []mutant{
	{"a port of unknown owner gets an empty list as a proof while a socket is served", []edit{
		{"internal/rpcclient/probe.go", "if err := c.waitToProbe(ctx, p); err != nil {", "if err := ctx.Err(); err != nil {"},
	}},
	{"who is late with the free proof gets an empty list", []edit{
		{"internal/rpcclient/probe.go", "if err := c.waitToProbe(ctx, p); err != nil {", "if err := ctx.Err(); err != nil {"},
		{"internal/rpcclient/probe.go", "\t\tif over == HTTP {\n\t\t\treturn nil, free\n\t\t}\n", ""},
		{"internal/rpcclient/probe.go", "free := link.Fingerprint(ctx, t, c.opts().AnswerTimeout)", "free := link.Fingerprint(ctx, t, c.opts().ProbeTimeout/2)"},
	}},
	{"a good link is dropped at the first late answer", []edit{
		{"internal/rpcclient/session/session.go", "\tif !s.HasAnswered {\n\t\tctx, cancel :=", "\tif true {\n\t\tctx, cancel :="},
	}},
	{"a reload of any setting closes links that work", []edit{
		{"internal/rpcclient/reconfigure.go", "case reach:\n", "default:\n"},
		{"internal/rpcclient/reconfigure.go", "p.attempt.reconsider()", "p.attempt.cancel(errReconnect)"},
	}},
	{"a reload of what concerns the ways to a client closes links that go on", []edit{
		{"internal/rpcclient/reconfigure.go", "p.attempt.reconsider()", "p.attempt.cancel(errReconnect)"},
	}},
	{"the end says nothing over the link that works", []edit{
		{"internal/rpcclient/transports.go", "errors.Is(cause, errStopping) || errors.Is(cause, errExcluded) {", "errors.Is(cause, errExcluded) {"},
		{"internal/rpcclient/farewell.go", "if sent == nil || ", "if true || sent == nil || "},
	}},
	{"a socket and a port of different processes are two clients", []edit{
		{"internal/rpcclient/admission.go", "!unrelated(p.lineagePID, q.lineagePID, p.lineage, q.lineage)", "(p.lineagePID == 0 || q.lineagePID == 0)"},
	}},
	{"a client and the relay that one script has started beside it are two", []edit{
		{"internal/rpcclient/local.go", " && !together(as, bs)", " && (true || !together(as, bs))"},
	}},
	{"whoever did not answer over HTTP is not asked over its socket", []edit{
		{"internal/rpcclient/session/session.go", "\tdefer context.AfterFunc(s.EndWhenIdle, func() { cancel(ErrReconnect) })()\n", ""},
	}},
	{"a port goes on although a socket that may be the same client's has greeted", []edit{
		{"internal/rpcclient/admission.go", "return q.greeted && blocks(p, q)", "return false && q.greeted && blocks(p, q)"},
	}},
	{"another user's port is anybody's", []edit{
		{"internal/rpcclient/attempt.go", "case p.UID != \"\" && me != \"\" && p.UID != me:", "case false:"},
	}},
	{"another user's socket is anybody's", []edit{
		{"internal/rpcclient/attempt.go", "case p.UID != \"\" && me != \"\" && p.UID != me:", "case p.UID != \"\" && me != \"\" && p.UID != me && !p.hasSocket():"},
	}},
	{"who logs waits for what takes the log", []edit{
		{"internal/asynclog/asynclog.go", "Write(line []byte) (int, error) {\n", "Write(line []byte) (int, error) {\n\treturn w.out.Write(line)\n"},
	}},
	{"a client that refuses a list may keep what it holds", []edit{
		{"internal/rpcclient/session/offer.go", "case s.holds != nil && !holdsStale(*s.holds, snap):", "case true:"},
	}},
	{"what a client has accepted is offered again as it was", []edit{
		{"internal/rpcclient/session/offer.go", "r.Flags, r.HardwareMute = now.Flags, now.HardwareMute", "r.Flags = now.Flags"},
	}},
	{"what one client has answered was answered by the next one behind its relay", []edit{
		{"internal/rpcclient/attempt.go", "c.memory.forget(c.keyOf(p, r.at))", "_ = c.memory.forget"},
	}},
	{"the program behind a relay is the one that was given up, for ever", []edit{
		{"internal/rpcclient/attempt.go", "return fmt.Errorf(\"%w, %w: %w\", link.ErrLost, link.ErrUnheard, err)", "return fmt.Errorf(\"%w: %w, %w\", errStillListening, link.ErrLost, err)"},
	}},
	{"the next agent believes the wall clock of the one before it", []edit{
		{"internal/rpcclient/session/tokenbucket.go", "min(left, time.Duration(b.size)*b.every)", "left"},
	}},
	{"a mute survives the gap of an update", []edit{
		{"internal/rpcclient/session/session.go", "\t\t\t\tlist[i].HardwareMute = nil\n", "\t\t\t\t_ = i\n"},
	}},
}
