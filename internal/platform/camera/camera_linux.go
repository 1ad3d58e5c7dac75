package camera

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sidetone/internal/devices"
	"sidetone/internal/health"
	"sidetone/internal/platform"
	"sidetone/internal/platform/linux"
)

// source lists the V4L2 nodes that capture video. It opens each once per presence: opening a camera wakes it, and what it is does not
// change. Nodes that do change are asked for every list, and watched.
type source struct {
	linux.Tree
	*watched
	query   func(path string) (videoNode, error)
	log     *slog.Logger
	hotplug *linux.Hotplug

	// mu of watched guards the following fields.
	nodes     map[nodeID]*presence // of the last scan
	notes     []health.Condition   // of the last Read
	producers *producers           // nil until there is a node that changes
}

// New returns the source "camera": the machine's V4L2 cameras. root is the folder with sys and dev; "" means that of the running system.
// Its notes name what cannot be watched or asked.
func New(root string, log *slog.Logger) (platform.Source, error) {
	tree, err := linux.OpenTree(root)
	if err != nil {
		return nil, fmt.Errorf("camera source: %w", err)
	}
	c := newSource(tree, queryVideoNode, log)
	c.watch()
	return c, nil
}

func newSource(tree linux.Tree, query func(string) (videoNode, error), log *slog.Logger) *source {
	c := &source{Tree: tree, watched: newWatched(), query: query, log: log, hotplug: new(linux.Hotplug)}
	c.unwatch = func() error {
		c.mu.Lock()
		defer c.mu.Unlock()
		err := c.hotplug.Close()
		if c.producers != nil {
			err = errors.Join(err, c.producers.Close())
		}
		return err
	}
	return c
}

func (c *source) watch() {
	c.hotplug = linux.WatchHotplug("camera", "video4linux", c.Dev, isVideoNode, c.log, c.changed.Notify)
}

// Read returns the cameras in the order of their numbers. The notes name those that are left out, and what is not watched.
func (c *source) Read(ctx context.Context) (platform.Reading, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.notes, c.retry = nil, 0
	endpoints, err := c.list(ctx)
	return platform.Reading{Endpoints: endpoints, Notes: append(c.hotplug.Notes(), c.notes...)}, err
}

func (c *source) list(ctx context.Context) ([]devices.Endpoint, error) {
	nodes, err := c.scan()
	if err != nil {
		return nil, c.unreadable(err)
	}
	c.ask(ctx, nodes)
	endpoints := []devices.Endpoint{}
	for _, n := range nodes {
		switch {
		case n.err == nil:
			if n.node.Capture {
				endpoints = append(endpoints, endpointOf(n))
			}
			if n.node.changes() {
				c.watchProducer(n)
			}
		case n.err != nil && linux.Exists(n.sysfs):
			c.reportUnread(n)
		}
	}
	return endpoints, nil
}

// watchProducer has a node that changes looked at when a program begins or ends to feed it. If it was not watched before, it is asked once
// more: it may have changed since it was asked.
func (c *source) watchProducer(n *presence) {
	isNew, err := false, error(nil)
	if c.producers == nil {
		c.producers, err = watchProducers(c.changed.Notify)
	}
	if err == nil {
		isNew, err = c.producers.arm(filepath.Join(c.Dev, n.name), n.node.Capture)
	}
	if err != nil {
		c.notes = append(c.notes, health.Follow(err, health.DevicesUnwatched, health.Warning, health.Args{"device": "camera"}).Condition)
	}
	if isNew {
		c.changed.Notify()
	}
}

// pciDomain matches the path of everything on a PCI bus.
var pciDomain = regexp.MustCompile(`(^|/)pci[0-9a-f]{4,}:[0-9a-f]{2}/`)

// virtualDrivers are the kernel's virtual cameras that have a platform device.
var virtualDrivers = []string{"vivid", "vimc"}

func endpointOf(n *presence) devices.Endpoint {
	e := devices.Endpoint{
		ID:      "/dev/" + n.name,
		Type:    devices.VideoInput,
		Name:    cmp.Or(n.node.Card, linux.Attribute(n.sysfs, "name")),
		BusInfo: n.node.BusInfo,
		SeenBy:  []string{"v4l2"},
	}
	_, path, _ := linux.SplitSysfs(n.sysfs)
	usb, ok := linux.USBParent(n.sysfs)
	switch {
	case ok:
		e.Bus, e.VID, e.PID, e.Serial, e.Container = devices.USB, usb.VID, usb.PID, usb.Serial, usb.Container
	case strings.HasPrefix(path, "virtual/"), slices.Contains(virtualDrivers, n.node.Driver):
		e.Bus, e.Virtual = devices.Virtual, true
	case pciDomain.MatchString(path):
		e.Bus = devices.PCI
	}
	return e
}
