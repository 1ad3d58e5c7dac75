package rpcclient

import (
	"context"
	"slices"
	"sync"
	"time"

	"sidetone/internal/local"
)

// unlistedInterval is the time between two tries of the ports that the system does not list.
const unlistedInterval = 5 * time.Minute

// unlisted finds listeners that the system does not list, such as a relay to another system. On Windows, a connect where nobody listens
// takes 2 s, so these ports are tried last, seldom, and in the background. Owned by Client.Run except for results.
type unlisted struct {
	open    []int      // ports that have accepted a connection and were not found closed since
	due     time.Time  // of the next try; zero: as soon as the quick search is over
	results chan []int // of the try under way; nil: none
	tries   sync.WaitGroup
}

// listeners returns the listeners on ports that the system does not list.
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

// closed notes that nobody listens on the port any more. The next try is due at once, because the client may be back in a moment.
func (u *unlisted) closed(port int) {
	if i := slices.Index(u.open, port); i >= 0 {
		u.open, u.due = slices.Delete(u.open, i, i+1), time.Time{}
	}
}

// tryUnlisted starts connecting to the ports that the system does not list, if a try is due.
func (c *Client) tryUnlisted(ctx context.Context) {
	u, now := &c.unlisted, time.Now()
	possible := c.opts().Local.HidesListeners() && len(c.portTransports()) > 0
	if !possible || !c.searchBackoff.AtCeiling() || u.results != nil || u.due.After(now) {
		return
	}
	results := make(chan []int, 1)
	u.results, u.due = results, now.Add(unlistedInterval)
	inUse := c.portsInUse()
	u.tries.Go(func() {
		results <- c.connectToPorts(ctx, inUse)
		c.attemptChanged.Notify()
	})
}
