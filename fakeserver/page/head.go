package page

import (
	"fmt"

	"sidetone/fakeserver"
)

// A headView is the state of the whole client.
type headView struct {
	Name      string `json:"name"`
	Profile   string `json:"profile"`
	Address   string `json:"address"` // of the TCP server; empty: none
	Socket    string `json:"socket"`  // path of the IPC endpoint; empty: none
	Running   bool   `json:"running"`
	Frozen    bool   `json:"frozen"`
	Link      string `json:"link"`      // connected, idle or stopped
	LinkText  string `json:"link_text"` // the same in words
	Fault     string `json:"fault"`     // as ParseFault reads it
	FaultKind string `json:"fault_kind"`
	Payloads  int    `json:"payloads"`
	Rejected  int    `json:"rejected"`
}

func headOf(srv *fakeserver.Server, name string) headView {
	st, fault := srv.Stats(), srv.Fault()
	v := headView{
		Name:      name,
		Profile:   string(srv.Profile()),
		Socket:    srv.IPCPath(),
		Running:   srv.Running(),
		Frozen:    srv.Frozen(),
		Fault:     fault.String(),
		FaultKind: string(fault.Kind),
		Payloads:  st.Payloads,
		Rejected:  st.Rejected,
	}
	if port := srv.Port(); port != 0 {
		v.Address = fmt.Sprintf("127.0.0.1:%d", port)
	}
	v.Link, v.LinkText = linkState(srv.ConnectionsByTransport(), v.Running, v.Frozen, fault.Kind == fakeserver.FaultRefuse)
	return v
}

// linkState says whether somebody is connected, and how. Transports with lasting connections
// come first.
func linkState(links map[fakeserver.Transport]int, running, frozen, refuses bool) (state, text string) {
	switch {
	case !running:
		return "stopped", "Stopped: the client is not there"
	case frozen:
		return "stopped", "Frozen: the client does nothing"
	}
	for _, t := range []fakeserver.Transport{fakeserver.IPC, fakeserver.WebSocket, fakeserver.HTTP} {
		if links[t] > 0 {
			return "connected", "Connected over " + transportNames[t]
		}
	}
	if refuses {
		return "stopped", "Refuses new connections"
	}
	return "idle", "No reporter connected"
}

// nameOf is the name of a client, or else its number if there are several.
func nameOf(srv *fakeserver.Server, index, total int) string {
	switch {
	case srv.Name() != "":
		return truncate(srv.Name(), maxNonce)
	case total == 1:
		return "Client"
	}
	return fmt.Sprintf("Client %d", index+1)
}

var transportNames = map[fakeserver.Transport]string{
	fakeserver.WebSocket: "WebSocket", fakeserver.HTTP: "HTTP", fakeserver.IPC: "IPC",
}
