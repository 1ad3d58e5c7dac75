package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPage(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	errs, errWriter := newLines(t)
	defer errs.pipe.Close()
	code := make(chan int, 1)
	go func() {
		code <- execute(ctx, []string{"--port", "0", "--page", "127.0.0.1:0"}, strings.NewReader(""), io.Discard, errWriter)
		_ = errWriter.Close()
	}()
	line := errs.read()
	require.Regexp(t, `^page at http://127\.0\.0\.1:\d+/$`, line)
	require.Regexp(t, `^listening on `, errs.read())
	url := strings.TrimPrefix(line, "page at ")

	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	require.NoError(t, err)
	transport := &http.Transport{DisableKeepAlives: true}
	resp, err := transport.RoundTrip(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Contains(t, string(body), "<h1>Fake client</h1>")

	stop()
	require.Equal(t, exitOK, <-code)
	_, err = transport.RoundTrip(req.WithContext(context.Background()))
	require.Error(t, err, "the page ends with the command")
}

func TestPageIsForThisMachineOnly(t *testing.T) {
	var errs bytes.Buffer
	require.Equal(t, exitUsage, execute(context.Background(), []string{"--port", "0", "--page", "0.0.0.0:0"}, strings.NewReader(""), io.Discard, &errs))
	require.Contains(t, errs.String(), `--page: page address "0.0.0.0:0": not a loopback address`)
}
