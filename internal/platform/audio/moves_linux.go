package audio

import (
	"context"
	"strconv"
	"time"

	"sidetone/internal/platform/audio/pipewire"
	"sidetone/internal/platform/audio/pulse"
)

// movesInterval is how often streams are read that may have been moved without an event.
const movesInterval = time.Second

// linksTimeout is how long the first words of the server are waited for, once.
const linksTimeout = 500 * time.Millisecond

// moves says when to read the streams again because one may record another source now. The PulseAudio protocol of PipeWire has no event
// for that, up to 1.6, but its own protocol tells of each link. A link's event may be here before pipewire-pulse has got its own: a second
// after a reading that had a reason, there is one more. Where there is no link to listen to, such as in a sandbox, there is one every
// second.
type moves struct {
	getenv func(string) string
	name   string // of this program, for the server
	notify func() // a stream may have been moved

	silent    bool            // streams matter whose moves the server does not tell
	asked     time.Time       // when the streams were read last
	unsettled bool            // what they said may not have been the last word
	links     *pipewire.Links // nil: not listened to
	tried     bool            // there was an attempt since the server was connected
}

// watch listens to links while that is needed, on the server with that cookie, and returns whether it has just begun. It tries once: a
// server that refuses is not asked each second.
func (m *moves) watch(ctx context.Context, cookie uint32, silent bool) (begun bool) {
	m.silent = silent
	if !silent {
		m.forget()
		return false
	}
	if m.tried {
		return false
	}
	m.tried = true
	socket := pipewire.Socket(m.getenv)
	if socket == "" {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, linksTimeout)
	defer cancel()
	if links, err := pipewire.Watch(ctx, socket, cookie, m.name, m.notify); err == nil {
		m.links = links
		m.notify() // a stream may have been moved since it was read
	}
	return m.links != nil
}

// recordsSeveral reports whether a stream is known to record more than one source.
func (m *moves) recordsSeveral(o pulse.SourceOutput) bool {
	node, err := strconv.ParseUint(o.Properties["object.id"], 10, 32)
	return err == nil && m.links != nil && m.links.Into(uint32(node)) > 1
}

// due reports whether it is time to read the streams although no event has come. event: one has, or it is not known what has changed.
func (m *moves) due(event bool) bool {
	due := m.wait() == 1
	m.unsettled = event || m.unsettled && !due
	return due
}

// wait returns how long to wait until the streams are read although no event has come; 1 ns if it is time, 0 for ever.
func (m *moves) wait() time.Duration {
	if !m.silent || !m.unsettled && m.links != nil && m.links.Err() == nil {
		return 0
	}
	return max(time.Until(m.asked.Add(movesInterval)), 1)
}

// forget ends the listening.
func (m *moves) forget() {
	if m.links != nil {
		_ = m.links.Close()
	}
	m.silent, m.links, m.tried = false, nil, false
}
