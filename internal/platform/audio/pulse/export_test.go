package pulse

import (
	"context"
	"testing"
)

// DialVersion is Dial that offers another protocol version.
func DialVersion(ctx context.Context, address string, o Options, version uint32) (*Conn, error) {
	return dial(ctx, address, o, version)
}

// Lists are the requests of Snapshot by the names of their recorded replies.
var Lists = map[string]request{
	"server": askServer, "sources": askSources, "sinks": askSinks, "cards": askCards, "modules": askModules,
	"outputs": askOutputs,
}

// Raw returns the body of the reply to one of Lists.
func (c *Conn) Raw(ctx context.Context, list string) ([]byte, error) {
	bodies, err := c.ask(ctx, Lists[list])
	if err != nil {
		return nil, err
	}
	return bodies[0], nil
}

// Recorded is what a folder of recorded replies says.
func Recorded(tb testing.TB, dir string) Snapshot { return recording(dir).parse(tb) }

// Version returns the negotiated protocol version.
func (c *Conn) Version() uint32 { return c.version }

// ServerInfo is the Server of a Snapshot.
func (c *Conn) ServerInfo(ctx context.Context) (ServerInfo, error) {
	return askFor(ctx, c, askServer, serverInfo)
}

// Sources are those of a Snapshot.
func (c *Conn) Sources(ctx context.Context) ([]Source, error) {
	return askFor(ctx, c, askSources, listOf(source))
}

// Modules are those of a Snapshot.
func (c *Conn) Modules(ctx context.Context) ([]Module, error) {
	return askFor(ctx, c, askModules, listOf(module))
}
