package tray

import (
	"context"
	"encoding/json"
	"flag"
	"log/slog"
	"net/http"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/control"
	"sidetone/internal/platform/desktop"
	"sidetone/internal/platform/ipc"
	"sidetone/internal/texts"
)

var (
	shownView = flag.String("view", "", "the view that TestShow shows until it is ended")
	shownLang = flag.String("lang", texts.English, "the language in which it does")
)

// TestShow has a tray show a view on the desktop, for pictures.
func TestShow(t *testing.T) {
	if *shownView == "" {
		t.Skip("no -view is given")
	}
	v, is := views[*shownView]
	require.True(t, is)
	const address = `\\.\pipe\sidetone-picture`
	if v.Agent == agentUp {
		l, err := ipc.ListenControl(address)
		require.NoError(t, err)
		server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_ = json.NewEncoder(w).Encode(control.Change{Status: v.Status})
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		})}
		go server.Serve(l)
	}
	require.NoError(t, Run(context.Background(), Options{
		Address: address, Program: "Sidetone", Version: "1.4.0", Vendor: "Acme Audio", Say: texts.For(*shownLang), Getenv: os.Getenv,
		Autostart: desktop.Entry{ID: "sidetone-tray", Name: "Sidetone"}, Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	}))
}
