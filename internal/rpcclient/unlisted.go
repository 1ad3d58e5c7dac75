package rpcclient

import (
	"context"
	"slices"
	"sync"
	"time"

	"sidetone/internal/local"
)

// unlistedInterval is from one try of the ports that the system does not list to the next.
const unlistedInterval = 5 * time.Minute

// unlisted are ports of which the system says nothing although somebody may listen there, as a relay to another system does. Each
// connect where nobody listens takes 2 s on Windows. So they come last, seldom, and beside everything else. Owned by Client.Run but for
// its results.
type unlisted struct {
	open    []int      // that have taken a connection, and have refused none since
	due     time.Time  // of the next try; zero: when the quick search has found what the system lists
	results chan []int // of the try under way; nil: there is none
	tries   sync.WaitGroup
}

// listeners are those on the ports that the system does not list.
func (u *unlisted) listeners(ports []int, listed []local.Listener) (found []local.Listener) {
	select {
	case u.open = <-u.results:
		u.results = nil
	default:
	}
	for _, port := range u.open {
		isListed := slices.ContainsFunc(listed, func(l local.Listener) bool { return l.Port == port })
		if !isListed && slices.Contains(ports, port) {
			found = append(found, local.Listener{Port: port})
		}
	}
	return found
}

// expect has those looked at from the beginning on which the agent before this one has found clients.
func (u *unlisted) expect(all []KnownClient) {
	for _, l := range all {
		if port := l.Port.Port; port != 0 && l.Port.ID == 0 && !slices.Contains(u.open, port) {
			u.open = append(u.open, port)
		}
	}
}

// closed notes that nobody listens on the port any more. Its client may be back in a moment.
func (u *unlisted) closed(port int) {
	if i := slices.Index(u.open, port); i >= 0 {
		u.open, u.due = slices.Delete(u.open, i, i+1), time.Time{}
	}
}

// tryUnlisted begins to connect to the ports that the system does not list, if it is time for that.
func (c *Client) tryUnlisted(ctx context.Context) {
	u, now := &c.unlisted, time.Now()
	if !c.opts().Local.HidesListeners() || !c.usesPorts() || !c.searchBackoff.atCeiling() || u.results != nil || u.due.After(now) {
		return
	}
	results := make(chan []int, 1)
	u.results, u.due = results, now.Add(unlistedInterval)
	talkedTo := c.portsInUse()
	u.tries.Go(func() {
		results <- c.connectToPorts(ctx, talkedTo)
		c.attemptChanged.Notify()
	})
}
