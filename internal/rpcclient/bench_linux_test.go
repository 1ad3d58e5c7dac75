package rpcclient

import (
	"context"
	"log/slog"
	"net"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/fakeserver"
)

// BenchmarkScan searches 11 ports for the client, which is on the last of them. Beside each
// search it connects to that port once, and to every port once, so that all meet the same noise.
func BenchmarkScan(b *testing.B) {
	b.Run("nobody-else", func(b *testing.B) { benchmarkScan(b, closedPort) })
	b.Run("ten-black-holes", func(b *testing.B) { benchmarkScan(b, silentPort) })
}

func benchmarkScan(b *testing.B, other func(*testing.B) int) {
	server, err := fakeserver.Start(fakeserver.Options{Ports: []int{0}, ClientIDs: []string{clientID}})
	require.NoError(b, err)
	b.Cleanup(func() { server.Close() })
	var ports []int
	for range 10 {
		ports = append(ports, other(b))
	}
	ports = append(ports, server.Port())
	ctx := context.Background()

	var connects, everyPort, scans []time.Duration
	for b.Loop() {
		var conn net.Conn
		connects = append(connects, fromRest(func() { conn, err = dialLoopback(ctx, server.Port()) }))
		require.NoError(b, err)
		require.NoError(b, conn.Close())

		everyPort = append(everyPort, fromRest(func() { connectEach(ctx, ports) }))

		scans = append(scans, search(ports))
	}
	reportPercentiles(b, "connect", connects)
	reportPercentiles(b, "connect-each", everyPort)
	reportPercentiles(b, "scan", scans)
	b.ReportMetric(float64(DefaultOptions.ProbeTimeout), "deadline-ns")
	b.ReportMetric(0, "ns/op") // of all three together, and of the rests
}

// search returns how long a Client takes from its start until it has found the client and is
// connected, over HTTP, where that is one connect.
func search(ports []int) time.Duration {
	ctx, stop := context.WithCancel(context.Background())
	connected := make(chan struct{})
	c := New(Options{
		ClientID: clientID, Ports: ports, Transports: only(HTTP), OnExit: ExitLeave,
		Log: slog.New(onLine{"connected", sync.OnceFunc(func() { close(connected) })}),
	})
	var wg sync.WaitGroup
	took := fromRest(func() {
		wg.Go(func() { c.Run(ctx) })
		<-connected
	})
	stop()
	wg.Wait()
	return took
}

// onLine calls what when a message is logged.
type onLine struct {
	message string
	what    func()
}

func (onLine) Enabled(context.Context, slog.Level) bool { return true }
func (l onLine) WithAttrs([]slog.Attr) slog.Handler     { return l }
func (l onLine) WithGroup(string) slog.Handler          { return l }
func (l onLine) Handle(_ context.Context, r slog.Record) error {
	if r.Message == l.message {
		l.what()
	}
	return nil
}

// fromRest returns how long f takes when the server is done with what came before.
func fromRest(f func()) time.Duration {
	time.Sleep(time.Millisecond)
	start := time.Now()
	f()
	return time.Since(start)
}

// connectEach connects to one port after the other, and asks nothing.
func connectEach(ctx context.Context, ports []int) {
	for _, port := range ports {
		if conn, err := dialLoopback(ctx, port); err == nil {
			_ = conn.Close()
		}
	}
}

func reportPercentiles(b *testing.B, name string, d []time.Duration) {
	slices.Sort(d)
	b.ReportMetric(float64(d[(len(d)-1)/2]), name+"-p50-ns")
	b.ReportMetric(float64(d[len(d)-1]), name+"-max-ns")
}

// closedPort returns a port on which connections are refused. It stays bound, so that nobody
// else can get it meanwhile.
func closedPort(b *testing.B) int {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	require.NoError(b, err)
	b.Cleanup(func() { _ = syscall.Close(fd) })
	require.NoError(b, syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	addr, err := syscall.Getsockname(fd)
	require.NoError(b, err)
	return addr.(*syscall.SockaddrInet4).Port
}

// silentPort returns a port on which connections are accepted and never answered.
func silentPort(b *testing.B) int {
	s, err := fakeserver.Start(fakeserver.Options{Ports: []int{0}, Fault: fakeserver.Fault{Kind: fakeserver.FaultHang}})
	require.NoError(b, err)
	b.Cleanup(func() { s.Close() })
	return s.Port()
}
