package hidio

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"sync"

	"golang.org/x/sys/windows"

	"sidetone/internal/health"
	"sidetone/internal/hid"
	"sidetone/internal/platform"
	platformwindows "sidetone/internal/platform/windows"
)

// askTimeout is how long a list waits for the description of one collection, which includes its name.
const askTimeout = 2 * describeTimeout

// classBacklog is Windows' default number of reports that it queues for a reader.
const classBacklog = 32

// hidInterfaces is GUID_DEVINTERFACE_HID.
var hidInterfaces = windows.GUID{Data1: 0x4d1e55b2, Data2: 0xf16f, Data3: 0x11cf, Data4: [8]byte{0x88, 0xcb, 0, 0x11, 0x11, 0, 0, 0x30}}

// hidclass is the backend: the nodes of Windows' HID class driver, joined to interfaces.
type hidclass struct {
	log      *slog.Logger
	watching *platformwindows.Watch // watches nothing until watch

	known    map[string]described // of the last list, by path
	describe func(described) (described, error)
	asking   map[string]platform.CallGuard // for those that have not answered, by path

	mu       sync.Mutex
	removals map[string]int           // how often each path has been removed
	nodes    map[string][]*collection // of the last list
}

// newBackend returns the HID devices of this machine. There is no such thing as a root folder on Windows.
func newBackend(root string, log *slog.Logger) (backend, error) {
	if root != "" {
		return nil, fmt.Errorf("read HID devices in %s: %w on Windows", root, errors.ErrUnsupported)
	}
	return &hidclass{
		log: log, watching: new(platformwindows.Watch), removals: make(map[string]int), describe: describe,
		asking: make(map[string]platform.CallGuard),
	}, nil
}

// list returns the interfaces in the order of their instance ids.
func (h *hidclass) list(known func(hid.Device) bool) ([]entry, error) {
	interfaces, err := platformwindows.Interfaces(hidInterfaces)
	if err != nil {
		return nil, err
	}
	found := make(map[string]described)
	var unreadable []entry
	for _, i := range interfaces {
		path := strings.ToLower(i.Path)
		h.mu.Lock()
		before := h.removals[path]
		h.mu.Unlock()
		k, ok := h.known[path]
		if !ok || k.presence != before {
			k = identify(i)
			k.presence = before
		}
		if !k.isAsked() && known(k.device()) {
			k, err = h.ask(path, k)
		}
		switch {
		case err == nil:
			found[path] = k
		case !errors.Is(err, fs.ErrNotExist): // it is just going
			e := entry{unreadable: health.Wrap(err, health.Unexplained, health.Warning, nil)}
			e.device.Node = i.Instance
			unreadable = append(unreadable, e)
		}
		err = nil
	}
	h.known = found
	entries, nodes := joinCollections(found)
	h.mu.Lock()
	h.nodes = nodes
	h.mu.Unlock()
	return append(entries, unreadable...), nil
}

// ask describes a collection. A driver that hangs costs one goroutine, however often devices are listed, and delays no other collection.
func (h *hidclass) ask(path string, k described) (described, error) {
	noAnswer := fmt.Errorf("what %s is cannot be read: %w", k.instance, platform.ErrNoAnswer)
	guard := h.asking[path]
	if len(guard) > 0 { // an earlier call has not returned
		return described{}, noAnswer
	}
	if guard == nil {
		guard = platform.NewCallGuard()
	}
	delete(h.asking, path)
	ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
	defer cancel()
	answer, err := platform.CallWithContext(ctx, guard, nil, func() (described, error) { return h.describe(k) })
	if err != nil && ctx.Err() != nil {
		h.asking[path] = guard
		err = noAnswer
	}
	return answer, err
}

// path is what the Device Manager shows.
func (h *hidclass) path(node string) string { return node }

func (h *hidclass) open(node string) (connection, error) {
	h.mu.Lock()
	of := h.nodes[node]
	h.mu.Unlock()
	if len(of) == 0 {
		return nil, &fs.PathError{Op: "open", Path: node, Err: fs.ErrNotExist}
	}
	return openNode(of)
}

func (h *hidclass) backlog() int { return classBacklog }

func (h *hidclass) watch(announce func(node string), changed func()) {
	h.watching = platformwindows.NewWatch("HID device", hidInterfaces, h.log, func(path string, arrived bool) {
		path = strings.ToLower(path)
		h.mu.Lock()
		defer h.mu.Unlock()
		if !arrived {
			h.removals[path]++
		}
		for node, of := range h.nodes {
			for _, c := range of {
				if strings.EqualFold(c.path, path) {
					announce(node)
				}
			}
		}
		changed()
	})
}

func (h *hidclass) unwatched() []health.Condition { return h.watching.Notes() }

func (h *hidclass) close() error { return h.watching.Close() }
