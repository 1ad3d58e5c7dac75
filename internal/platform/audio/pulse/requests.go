package pulse

import "context"

// Subscribe requests events of the given facilities, in place of an earlier subscription. To miss no change, subscribe before the first
// list.
func (c *Conn) Subscribe(ctx context.Context, facilities ...Facility) error {
	var mask uint32
	for _, f := range facilities {
		mask |= 1 << f
	}
	_, err := c.ask(ctx, request{"subscribe", cmdSubscribe, func(e *encoder) { e.u32(mask) }})
	return err
}

// The requests that list everything of a kind.
var (
	askServer  = request{what: "read the server info", command: cmdServerInfo}
	askSources = request{what: "list sources", command: cmdSourceList}
	askSinks   = request{what: "list sinks", command: cmdSinkList}
	askCards   = request{what: "list cards", command: cmdCardList}
	askModules = request{what: "list modules", command: cmdModuleList}
	askOutputs = request{what: "list recording streams", command: cmdOutputList}
)

// Sinks returns all sinks.
func (c *Conn) Sinks(ctx context.Context) ([]Sink, error) {
	return askFor(ctx, c, askSinks, listOf(sink))
}

// SourceOutputs returns all streams that record.
func (c *Conn) SourceOutputs(ctx context.Context) ([]SourceOutput, error) {
	return askFor(ctx, c, askOutputs, listOf(sourceOutput))
}

// Source returns the source with the given index, or an error that wraps ErrNoEntity.
func (c *Conn) Source(ctx context.Context, index uint32) (Source, error) {
	return askFor(ctx, c, request{"read a source", cmdSourceInfo, func(e *encoder) {
		e.u32(index)
		e.str("")
	}}, source)
}

// Snapshot reads everything in one round trip. The server answers the six requests one after another, so a change in between may show in
// only some of the lists; its event is the reason to read again.
func (c *Conn) Snapshot(ctx context.Context) (Snapshot, error) {
	asked := []request{askServer, askSources, askSinks, askCards, askModules, askOutputs}
	bodies, err := c.ask(ctx, asked...)
	if err != nil {
		return Snapshot{}, err
	}
	var s Snapshot
	var errs [6]error
	s.Server, errs[0] = parse(bodies[0], c.version, serverInfo)
	s.Sources, errs[1] = parse(bodies[1], c.version, listOf(source))
	s.Sinks, errs[2] = parse(bodies[2], c.version, listOf(sink))
	s.Cards, errs[3] = parse(bodies[3], c.version, listOf(card))
	s.Modules, errs[4] = parse(bodies[4], c.version, listOf(module))
	s.Outputs, errs[5] = parse(bodies[5], c.version, listOf(sourceOutput))
	for i, err := range errs {
		if err != nil {
			return Snapshot{}, explain(asked[i].what, c.address, err)
		}
	}
	return s, nil
}

// SetSourceMute mutes or unmutes the source with the given name or decimal index. It is for tests, demos and benchmarks: the agent only
// reads.
func (c *Conn) SetSourceMute(ctx context.Context, source string, mute bool) error {
	_, err := c.ask(ctx, request{"mute a source", cmdSetSourceMute, func(e *encoder) {
		e.u32(InvalidIndex)
		e.str(source)
		e.bool(mute)
	}})
	return err
}

func askFor[T any](ctx context.Context, c *Conn, r request, read func(*decoder) T) (T, error) {
	var v T
	bodies, err := c.ask(ctx, r)
	if err != nil {
		return v, err
	}
	if v, err = parse(bodies[0], c.version, read); err != nil {
		return v, explain(r.what, c.address, err)
	}
	return v, nil
}
