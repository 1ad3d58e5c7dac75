package camera

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"sidetone/internal/health"
	"sidetone/internal/platform"
	"sidetone/internal/platform/linux"
)

// queryRetries are the times after the first failure at which a node that cannot be queried is tried again: at the kernel's "add" event
// udev has not set the node's access yet. After that it is tried only at events.
var queryRetries = []time.Duration{50 * time.Millisecond, 250 * time.Millisecond, 1250 * time.Millisecond}

// queryTimeout is how long one Read waits for drivers that do not answer.
const queryTimeout = time.Second

// nodeID identifies one presence of a node, so that the next one with the same number has another id.
type nodeID struct {
	name  string
	inode uint64
}

type presence struct {
	name, sysfs string
	asking      *question // not nil while the driver is queried
	node        videoNode
	err         error     // why it is not known what the node is
	failing     time.Time // since when it cannot be queried
	reported    bool
}

// question is a query and its answer.
type question struct {
	*platform.Call
	node videoNode
	err  error
}

var errNotAsked = errors.New("its driver was not asked yet")

var isVideoNode = regexp.MustCompile(`^video[0-9]+$`).MatchString

// scan finds the nodes in sysfs, with what is remembered of them.
func (c *source) scan() ([]*presence, error) {
	entries, err := c.Class("video4linux")
	if err != nil {
		return nil, err
	}
	known := c.nodes
	c.nodes = make(map[nodeID]*presence)
	var nodes []*presence
	for _, sysfs := range entries {
		name := filepath.Base(sysfs)
		info, err := os.Stat(sysfs)
		if !isVideoNode(name) || err != nil { // an entry that leads nowhere is just going
			continue
		}
		id := nodeID{name, linux.Inode(info)}
		n := known[id]
		if n == nil {
			n = &presence{name: name, sysfs: sysfs, err: errNotAsked}
		}
		c.nodes[id] = n
		nodes = append(nodes, n)
	}
	return nodes, nil
}

// ask gives every node an answer. Drivers are queried concurrently, so that one that hangs does not delay the others; a late answer
// notifies.
func (c *source) ask(ctx context.Context, nodes []*presence) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	for _, n := range nodes {
		path := filepath.Join(c.Dev, n.name)
		if n.err == nil && !n.node.changes() && linux.Exists(path) || n.asking != nil {
			continue
		}
		q := &question{Call: platform.NewCall(c.changed.Notify)}
		n.asking = q
		go q.Do(func() { q.node, q.err = c.query(path) })
	}
	for _, n := range nodes {
		n.await(ctx)
	}
}

// await waits for the answer until ctx ends; a later Read takes a late one.
func (n *presence) await(ctx context.Context) {
	if n.asking == nil {
		return
	}
	n.err = platform.ErrNoAnswer
	if q := n.asking; q.ReturnedBefore(ctx) {
		n.node, n.err, n.asking = q.node, q.err, nil
	}
	if n.err == nil {
		n.failing, n.reported = time.Time{}, false
	}
}

// reportUnread handles a node that cannot be queried: it is retried silently a few times, then reported as left out.
func (c *source) reportUnread(n *presence) {
	if n.failing.IsZero() {
		n.failing = time.Now()
	}
	if wait := platform.NextTry(n.failing, queryRetries); wait > 0 {
		c.retry = platform.Sooner(c.retry, wait)
		return
	}
	path, name := filepath.Join(c.Dev, n.name), linux.Attribute(n.sysfs, "name")
	args := health.Args{"path": path, "camera": cmp.Or(name, n.name)}
	c.notes = append(c.notes, health.Wrap(n.err, whyLeftOut(n.err), health.Warning, args).Condition)
	if !n.reported {
		n.reported = true
		c.log.Warn("camera left out", "node", path, "name", name, "err", n.err)
	}
}

func whyLeftOut(err error) health.Code {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return health.CameraDenied
	case errors.Is(err, fs.ErrNotExist):
		return health.CameraHidden
	default:
		return health.CameraUnreadable
	}
}
