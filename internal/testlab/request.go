package testlab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/jfreymuth/pulse/proto"
)

const (
	requestLimit = 10 * time.Second
	cookieSize   = 256 // a private server takes any cookie
)

// request sends one request of PulseAudio's protocol, over a connection of its own, and waits for the answer. what says in errors what
// was asked; reply is nil if the answer holds nothing.
func (s *SoundServer) request(ctx context.Context, what string, request proto.RequestArgs, reply proto.Reply) error {
	ctx, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	err := s.exchange(ctx, request, reply)
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		err = fmt.Errorf("no answer: %w", ctx.Err())
	}
	return fmt.Errorf("testlab: %s on the private %s: %w", what, s.kind, err)
}

func (s *SoundServer) exchange(ctx context.Context, request proto.RequestArgs, reply proto.Reply) error {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", s.Socket())
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	client := &proto.Client{Callback: func(any) {}}
	client.SetTimeout(2 * requestLimit) // ctx ends first
	client.Open(conn)
	var server proto.AuthReply
	if err := client.Request(&proto.Auth{Version: client.Version(), Cookie: make([]byte, cookieSize)}, &server); err != nil {
		return err
	}
	client.SetVersion(server.Version)
	name := proto.PropList{"application.name": proto.PropListString("testlab")}
	if err := client.Request(&proto.SetClientName{Props: name}, &proto.SetClientNameReply{}); err != nil {
		return err
	}
	return client.Request(request, reply)
}

// LoadModule loads a module of the server and returns its index. The caller quotes arguments with
// several words or properties: double quotes inside single quotes work everywhere, backslashes do not.
func (s *SoundServer) LoadModule(ctx context.Context, name string, args ...string) (uint32, error) {
	var reply proto.LoadModuleReply
	err := s.request(ctx, "load "+name, &proto.LoadModule{Name: name, Args: strings.Join(args, " ")}, &reply)
	return reply.ModuleIndex, err
}

// MoveStreams moves all recording streams whose property key has the value to another source, as the mixers of desktops do.
func (s *SoundServer) MoveStreams(ctx context.Context, key, value, source string) error {
	var streams proto.GetSourceOutputInfoListReply
	if err := s.request(ctx, "list streams", &proto.GetSourceOutputInfoList{}, &streams); err != nil {
		return err
	}
	moved := false
	for _, o := range streams {
		if o.Properties[key].String() != value {
			continue
		}
		move := proto.MoveSourceOutput{SourceOutputIndex: o.SourceOutpuIndex, DeviceIndex: proto.Undefined, DeviceName: source}
		if err := s.request(ctx, "move a stream", &move, nil); err != nil {
			return err
		}
		moved = true
	}
	if !moved {
		return fmt.Errorf("testlab: no stream with %s = %q on the private %s", key, value, s.kind)
	}
	return nil
}

// UnloadModule unloads a module.
func (s *SoundServer) UnloadModule(ctx context.Context, index uint32) error {
	return s.request(ctx, fmt.Sprintf("unload module %d", index), &proto.UnloadModule{ModuleIndex: index}, nil)
}

// hasSink and hasSource report whether the server lists a device of this name.
func (s *SoundServer) hasSink(ctx context.Context, name string) (bool, error) {
	return found(s.request(ctx, "look up "+name, &proto.LookupSink{SinkName: name}, &proto.LookupSinkReply{}))
}

func (s *SoundServer) hasSource(ctx context.Context, name string) (bool, error) {
	return found(s.request(ctx, "look up "+name, &proto.LookupSource{SourceName: name}, &proto.LookupSourceReply{}))
}

func found(err error) (bool, error) {
	if errors.Is(err, proto.ErrNoSuchEntity) {
		return false, nil
	}
	return err == nil, err
}

// info returns what the server says about itself.
func (s *SoundServer) info(ctx context.Context) (info proto.GetServerInfoReply, err error) {
	err = s.request(ctx, "ask for its defaults", &proto.GetServerInfo{}, &info)
	return info, err
}

// SetDefaultSource sets the default source. PipeWire's session manager occasionally loses the request
// during another change, so it is checked and repeated.
func (s *SoundServer) SetDefaultSource(ctx context.Context, name string) error {
	return s.waitFor(ctx, "take "+name+" for its default source", func(ctx context.Context) error {
		if err := s.request(ctx, "set the default source", &proto.SetDefaultSource{SourceName: name}, nil); err != nil {
			return err
		}
		info, err := s.info(ctx)
		if err == nil && info.DefaultSourceName != name {
			err = fmt.Errorf("it is %s", info.DefaultSourceName)
		}
		return err
	})
}
