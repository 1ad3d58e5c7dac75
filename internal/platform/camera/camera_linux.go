package camera

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"sidetone/internal/devices"
	"sidetone/internal/platform"
	"sidetone/internal/platform/linux"
	"sidetone/internal/signal"
)

// cameraRetry is when a failed List is tried again without an event.
const cameraRetry = 30 * time.Second

// cameraSource lists the V4L2 nodes that deliver pictures. Each is opened once per presence:
// opening a camera wakes it, and what it is does not change.
type cameraSource struct {
	sys, dev string // folders
	query    func(path string) (videoNode, error)
	log      *slog.Logger
	changed  signal.Signal
	closed   chan struct{}
	once     sync.Once

	kernel, access *linux.Reader // what is watched; nil where that failed
	unwatched      []string

	mu    sync.Mutex
	nodes map[cameraID]*cameraNode // of the last scan
	notes []string                 // of the last List
	retry time.Duration            // files.until List is due without an event; 0 = never
}

// New returns the source "camera": the machine's V4L2 cameras. root is the folder that
// holds sys and dev; "" means that of the running system. What cannot be watched or asked is
// said in the source's notes.
func New(root string, log *slog.Logger) (platform.Source, error) {
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
		changed: signal.New(),
		closed:  make(chan struct{}),
	}
}

func (c *cameraSource) watch() {
	var err error
	if c.kernel, err = linux.WatchUevents(c.changed.Notify, "video4linux"); err != nil {
		c.unwatch("kernel device events cannot be heard, a plugged camera may go unnoticed", err)
	}
	if c.access, err = linux.WatchNodes(c.dev, isVideoNode, c.changed.Notify); err != nil {
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
		for _, r := range []*linux.Reader{c.kernel, c.access} {
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
	_, err := c.changed.Wait(ctx, retry, c.closed)
	return err
}

// Notes names the cameras that the last List left out, and what is not watched.
func (c *cameraSource) Notes() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	notes := slices.Concat(c.unwatched, c.notes)
	for _, r := range []*linux.Reader{c.kernel, c.access} {
		if r != nil && r.Failed() != nil {
			notes = append(notes, fmt.Sprintf("cameras are no longer watched: %v; restart to watch again", r.Failed()))
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
		case n.answer.err != nil && linux.Exists(n.sysfs):
			c.leaveOut(n)
		}
	}
	return endpoints, nil
}

// pciDomain is the first element of the path of everything that hangs on a PCI bus.
var pciDomain = regexp.MustCompile(`(^|/)pci[0-9a-f]{4,}:[0-9a-f]{2}/`)

// virtualDrivers are those of the kernel's make-believe cameras that have a platform device.
var virtualDrivers = []string{"vivid", "vimc"}

func cameraEndpoint(n *cameraNode) devices.Endpoint {
	e := devices.Endpoint{
		ID:      "/dev/" + n.name,
		Type:    devices.VideoInput,
		Name:    cmp.Or(n.answer.node.Card, linux.Attribute(n.sysfs, "name")),
		BusInfo: n.answer.node.BusInfo,
		SeenBy:  []string{"v4l2"},
	}
	_, path, _ := linux.SplitSysfs(n.sysfs)
	usb, ok := linux.USBParent(n.sysfs)
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
