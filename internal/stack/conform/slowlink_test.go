package conform

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/measure"
)

// A connection through the slow link opens after handshakeDelay, again and again,
// and its bytes take linkDelay each way.
func TestSlowTCPDelaysTheHandshake(t *testing.T) {
	t.Parallel()
	echo, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer echo.Close()
	go func() {
		for {
			c, err := echo.Accept()
			if err != nil {
				return
			}
			go func() { io.Copy(c, c); c.Close() }()
		}
	}()
	link, err := newSlowTCP(echo.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer link.close()
	for range 2 {
		began := time.Now()
		c, err := net.Dial("tcp4", link.addr())
		if err != nil {
			t.Fatal(err)
		}
		opened := time.Now()
		b := []byte("there and back")
		c.Write(b)
		if _, err := io.ReadFull(c, b); err != nil {
			t.Fatal(err)
		}
		if d := opened.Sub(began); d < handshakeDelay-20*time.Millisecond {
			t.Errorf("opened in %v, want %v or more", d, handshakeDelay)
		}
		if d := time.Since(opened); d < 2*linkDelay {
			t.Errorf("there and back in %v, want %v or more", d, 2*linkDelay)
		}
		c.Close()
	}
}

func TestJudgeConnecting(t *testing.T) {
	const ms = time.Millisecond
	x := func(connection, rtt time.Duration) measure.Exchange {
		return measure.Exchange{Seq: 1, Sent: connection, Done: connection + rtt, Connection: connection,
			Total: connection + rtt}
	}
	for _, tt := range []struct {
		what string
		x    measure.Exchange
		want string // empty: right
	}{
		{"connecting before sent", x(1001*ms, 203*ms), ""},
		{"a stall of the machine in the round trip", x(1001*ms, 900*ms), ""},
		{"connecting after sent", x(0, 1204*ms), "connection 0s"},
		{"connecting in both", measure.Exchange{Seq: 1, Done: 1204 * ms, Connection: 1001 * ms, Total: 2300 * ms},
			"it contains opening"},
		{"closing in the total", measure.Exchange{Seq: 1, Sent: 1001 * ms, Done: 1204 * ms, Connection: 1001 * ms,
			Total: 1404 * ms}, "goodbye"},
		{"done before the answer", x(1001*ms, 1*ms), "whose round trip"},
	} {
		err := judgeConnecting([]measure.Exchange{tt.x}, time.Second)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", tt.what, err, tt.want)
		}
	}
}
