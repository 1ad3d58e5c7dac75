package fakeserver_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"sidetone/fakeserver"
)

func Example() {
	srv, err := fakeserver.Start(fakeserver.Options{Ports: []int{0}})
	if err != nil {
		panic(err)
	}
	defer srv.Close()

	// What an agent would send.
	const body = `{"nonce":"1","cmd":"SET_CERTIFIED_DEVICES","args":{"devices":[{"type":"audioinput","id":"mic",` +
		`"vendor":{"name":"Acme"},"model":{"name":"Headset 700"},"related":[],"hardware_mute":true}]}}`
	resp, err := http.Post(srv.URL()+"/rpc?v=1&client_id=123456789012345678", "application/json", strings.NewReader(body))
	if err != nil {
		panic(err)
	}
	resp.Body.Close()
	http.DefaultClient.CloseIdleConnections()

	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	p, err := srv.WaitPayload(ctx, 0)
	if err != nil {
		panic(err)
	}
	fmt.Println(p.Nonce, fakeserver.Describe(p.Previous, p.Devices), p.Err, len(p.Warnings))
	// Output: 1 +1 device: Acme Headset 700 (audioinput) <nil> 0
}
