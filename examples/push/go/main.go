// Command push tells Sidetone's agent whether the headset itself has muted its microphone.
// Linux. Usage: push PRODUCT true|false
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

const vendor = "acme" // vendor.id in your catalogue

var agent = http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DialContext: dial}}

// dial connects to the agent. On Windows return winio.DialPipeContext(ctx, `\\.\pipe\sidetone-`+vendor+`-`+SID+`-`+session)
// of github.com/Microsoft/go-winio; os/user has the SID as Uid, ProcessIdToSessionId of x/sys/windows the session.
func dial(ctx context.Context, _, _ string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", os.Getenv("XDG_RUNTIME_DIR")+"/sidetone/"+vendor+"/agent.sock")
	if err != nil {
		return nil, fmt.Errorf("no agent runs (start it with 'sidetone run'): %w", err)
	}
	return conn, nil
}

// push returns the agent's answer; what it refuses is an error.
func push(product, muted string) (string, error) {
	// A lease: say it again every 30 s, before ttl_ms runs out, and at once after a failure or on a new "instance" of the status.
	body := `{"owner": "acme-suite", "ttl_ms": 60000, "state": {"hardware_mute": ` + muted + `}}`
	request, err := http.NewRequest(http.MethodPut, "http://localhost/v1/states/"+url.PathEscape(product), strings.NewReader(body))
	if err != nil {
		return "", err
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := agent.Do(request)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("the agent refuses: %s", text)
	}
	return string(text), err
}

func main() {
	if len(os.Args) != 3 || (os.Args[2] != "true" && os.Args[2] != "false") {
		log.Fatal("push: usage: push PRODUCT true|false")
	}
	text, err := push(os.Args[1], os.Args[2])
	if err != nil {
		log.Fatal("push: ", err)
	}
	fmt.Println(text)
}
