package platform

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"sidetone/internal/devices"
)

// cameraTries are the times after the first failure at which a node that cannot be asked is
// tried again by itself: at the kernel's "add" udev has not yet set the node's access. Later
// the node is asked again at each event only.
var cameraTries = []time.Duration{50 * time.Millisecond, 250 * time.Millisecond, 1250 * time.Millisecond}

const (
	cameraPatience = time.Second      // how long one List waits for drivers that do not answer
	cameraRetry    = 30 * time.Second // until a failed List is tried again without an event
)

// cameraSource lists the V4L2 nodes that deliver pictures. Each is opened once per presence:
// opening a camera wakes it, and what it is does not change.
type cameraSource struct {
	sys, dev string // folders
	query    func(path string) (videoNode, error)
	log      *slog.Logger
	changed  bell
	closed   chan struct{}
	once     sync.Once

	kernel, access *reader // what is watched; nil where that failed
	unwatched      []string

	mu    sync.Mutex
	nodes map[cameraID]*cameraNode // of the last scan
	notes []string                 // of the last List
	retry time.Duration            // until List is due without an event; 0 = never
}

// cameraID tells one presence of a node from the next one that gets the same number.
type cameraID struct {
	name  string
	inode uint64
}

type cameraNode struct {
	name, sysfs string
	asking      *cameraQuestion // not nil while the driver is being asked
	answer      *cameraAnswer   // nil until there is one
	failing     time.Time       // since when it cannot be asked
	reported    bool
}

type cameraQuestion struct {
	answer chan cameraAnswer // gets one
	late   atomic.Bool       // nobody waits any more
}

type cameraAnswer struct {
	node videoNode
	err  error
}

// NewCamera returns the source "camera": the machine's V4L2 cameras. root is the folder that
// holds sys and dev; "" means that of the running system. What cannot be watched or asked is
// said in the source's notes.
func NewCamera(root string, log *slog.Logger) (Source, error) {
	root = cmp.Or(root, "/")
	if info, err := os.Stat(root); err != nil {
		return nil, fmt.Errorf("camera source: %w", err)
	} else if !info.IsDir() {
		return nil, fmt.Errorf("camera source: %s is not a folder that holds sys and dev", root)
	}
	c := newCamera(root, queryVideoNode, log)
	c.watch()
	return c, nil
}

func newCamera(root string, query func(string) (videoNode, error), log *slog.Logger) *cameraSource {
	return &cameraSource{
		sys:     filepath.Join(root, "sys"),
		dev:     filepath.Join(root, "dev"),
		query:   query,
		log:     log,
		changed: newBell(),
		closed:  make(chan struct{}),
	}
}

func (c *cameraSource) watch() {
	var err error
	if c.kernel, err = watchUevents(c.changed.ring, "video4linux"); err != nil {
		c.unwatch("kernel device events cannot be heard, a plugged camera may go unnoticed", err)
	}
	if c.access, err = watchNodes(c.dev, isVideoNode, c.changed.ring); err != nil {
		c.unwatch("a change of access to a camera goes unnoticed", err)
	}
}

func (c *cameraSource) unwatch(what string, err error) {
	c.log.Warn("camera: "+what, "err", err)
	c.unwatched = append(c.unwatched, fmt.Sprintf("%s: %v", what, err))
}

// Name is "camera".
func (c *cameraSource) Name() string { return "camera" }

// Close ends Wait and the watching.
func (c *cameraSource) Close() error {
	var errs []error
	c.once.Do(func() {
		close(c.closed)
		for _, r := range []*reader{c.kernel, c.access} {
			if r != nil {
				errs = append(errs, r.Close())
			}
		}
	})
	return errors.Join(errs...)
}

// Wait returns after a hot-plug, after a change of access, and when a node that could not be
// asked is due again.
func (c *cameraSource) Wait(ctx context.Context) error {
	c.mu.Lock()
	retry := c.retry
	c.mu.Unlock()
	var due <-chan time.Time
	if retry > 0 {
		timer := time.NewTimer(retry)
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-c.changed:
	case <-due:
	case <-c.closed:
		return os.ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// Notes names the cameras that the last List left out, and what is not watched.
func (c *cameraSource) Notes() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	notes := slices.Concat(c.unwatched, c.notes)
	for _, r := range []*reader{c.kernel, c.access} {
		if r != nil && r.failed() != nil {
			notes = append(notes, fmt.Sprintf("cameras are no longer watched: %v; restart to watch again", r.failed()))
		}
	}
	return notes
}

// List returns the cameras in the order of their numbers.
func (c *cameraSource) List(ctx context.Context) ([]devices.Endpoint, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.notes, c.retry = nil, 0
	nodes, err := c.scan()
	if err != nil {
		c.retry = cameraRetry
		return nil, fmt.Errorf("list cameras: %w", err)
	}
	c.ask(ctx, nodes)
	endpoints := []devices.Endpoint{}
	for _, n := range nodes {
		switch {
		case n.answer.err == nil && n.answer.node.Capture:
			endpoints = append(endpoints, cameraEndpoint(n))
		case n.answer.err != nil && exists(n.sysfs):
			c.leaveOut(n)
		}
	}
	return endpoints, nil
}

var videoNodeName = regexp.MustCompile(`^video[0-9]+$`)

func isVideoNode(name string) bool { return videoNodeName.MatchString(name) }

// scan finds the nodes that sysfs lists, with what is remembered of them.
func (c *cameraSource) scan() ([]*cameraNode, error) {
	class := filepath.Join(c.sys, "class", "video4linux")
	entries, err := os.ReadDir(class)
	if errors.Is(err, fs.ErrNotExist) {
		_, err = os.Stat(filepath.Dir(class)) // without a class folder this is no sysfs
	}
	if err != nil {
		return nil, err
	}
	known := c.nodes
	c.nodes = make(map[cameraID]*cameraNode)
	var nodes []*cameraNode
	for _, e := range entries {
		sysfs := filepath.Join(class, e.Name())
		info, err := os.Stat(sysfs)
		if !isVideoNode(e.Name()) || err != nil { // an entry that leads nowhere is just going
			continue
		}
		id := cameraID{e.Name(), inode(info)}
		n := known[id]
		if n == nil {
			n = &cameraNode{name: e.Name(), sysfs: sysfs}
		}
		c.nodes[id] = n
		nodes = append(nodes, n)
	}
	slices.SortFunc(nodes, func(a, b *cameraNode) int {
		return cmp.Or(cmp.Compare(len(a.name), len(b.name)), cmp.Compare(a.name, b.name))
	})
	return nodes, nil
}

func inode(info fs.FileInfo) uint64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return stat.Ino
	}
	return 0
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// ask gives every node an answer. Drivers are asked side by side, so that one that hangs costs
// the others nothing; its late answer rings.
func (c *cameraSource) ask(ctx context.Context, nodes []*cameraNode) {
	ctx, cancel := context.WithTimeout(ctx, cameraPatience)
	defer cancel()
	for _, n := range nodes {
		path := filepath.Join(c.dev, n.name)
		if n.answer != nil && n.answer.err == nil && exists(path) || n.asking != nil {
			continue
		}
		q := &cameraQuestion{answer: make(chan cameraAnswer, 1)}
		n.answer, n.asking = nil, q
		go func() {
			node, err := c.query(path)
			q.answer <- cameraAnswer{node, err}
			if q.late.Load() {
				c.changed.ring()
			}
		}()
	}
	for _, n := range nodes {
		n.await(ctx)
	}
}

var errNoAnswer = errors.New("its driver does not answer")

// await takes the answer to a question, or none once ctx ends: then a later List takes it.
func (n *cameraNode) await(ctx context.Context) {
	if n.asking == nil {
		return
	}
	select {
	case answer := <-n.asking.answer:
		n.answer, n.asking = &answer, nil
	case <-ctx.Done():
		n.asking.late.Store(true)
		select { // the time went to another node; this one may have answered long ago
		case answer := <-n.asking.answer:
			n.answer, n.asking = &answer, nil
		default:
			n.answer = &cameraAnswer{err: errNoAnswer}
		}
	}
	if n.answer.err == nil {
		n.failing, n.reported = time.Time{}, false
	}
}

// leaveOut deals with a node that cannot be asked: it is tried again a few times in silence,
// then its absence is said.
func (c *cameraSource) leaveOut(n *cameraNode) {
	if n.failing.IsZero() {
		n.failing = time.Now()
	}
	failing := time.Since(n.failing)
	for _, at := range cameraTries {
		if left := at - failing; left > 0 {
			if c.retry == 0 || left < c.retry {
				c.retry = left
			}
			return
		}
	}
	path, name := filepath.Join(c.dev, n.name), attribute(n.sysfs, "name")
	c.notes = append(c.notes, fmt.Sprintf("%s (%s) is left out: %v; %s", path, name, n.answer.err, cameraRemedy(n.answer.err)))
	if !n.reported {
		n.reported = true
		c.log.Warn("camera left out", "node", path, "name", name, "err", n.answer.err)
	}
}

func cameraRemedy(err error) string {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return "this user needs read access to the node: a session at the machine itself or membership of the node's group"
	case errors.Is(err, fs.ErrNotExist):
		return "the node is hidden from this process, as a container does, or was never made"
	default:
		return "unplug the camera and plug it in again"
	}
}

// pciDomain is the first element of the path of everything that hangs on a PCI bus.
var pciDomain = regexp.MustCompile(`(^|/)pci[0-9a-f]{4,}:[0-9a-f]{2}/`)

// virtualDrivers are those of the kernel's make-believe cameras that have a platform device.
var virtualDrivers = []string{"vivid", "vimc"}

func cameraEndpoint(n *cameraNode) devices.Endpoint {
	e := devices.Endpoint{
		ID:      "/dev/" + n.name,
		Type:    devices.VideoInput,
		Name:    cmp.Or(n.answer.node.Card, attribute(n.sysfs, "name")),
		BusInfo: n.answer.node.BusInfo,
		SeenBy:  []string{"v4l2"},
	}
	_, path, _ := splitSysfs(n.sysfs)
	usb, ok := usbParent(n.sysfs)
	switch {
	case ok:
		e.Bus, e.VID, e.PID, e.Serial, e.Container = devices.USB, usb.VID, usb.PID, usb.Serial, usb.Container
	case strings.HasPrefix(path, "virtual/"), slices.Contains(virtualDrivers, n.answer.node.Driver):
		e.Bus, e.Virtual = devices.Virtual, true
	case pciDomain.MatchString(path):
		e.Bus = devices.PCI
	}
	return e
}
