package kernel

import (
	"net"
	"os"
	"testing"
)

// The counters change with each connection that is opened, and with each that is closed or reset by either end.
func TestCountersOfConnections(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.6:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	p := dialed(t, l)
	last, err := ReadTCPCounters(os.Getpid())
	if err != nil || last.Opened < 1 || last.Accepted < 1 || last.Open < 2 {
		t.Fatalf("with a connection: got %+v, %v", last, err)
	}
	for _, then := range []struct {
		what string
		do   func()
	}{
		{"the client closes", func() { p.client.Close() }},
		{"the server closes", func() { p.server.Close() }},
		{"another is opened", func() { p = dialed(t, l) }},
		{"the server closes first", func() { p.server.Close() }},
		{"one more is opened", func() { p = dialed(t, l) }},
		{"the client resets", func() {
			p.client.(*net.TCPConn).SetLinger(0)
			p.client.Close()
		}},
		{"nobody takes it", func() {
			at := l.Addr().String()
			l.Close()
			if _, err := net.Dial("tcp4", at); err == nil {
				t.Error("somebody takes it")
			}
		}},
	} {
		then.do()
		now, err := ReadTCPCounters(os.Getpid())
		if err != nil || now == last {
			t.Errorf("%s: got %+v, %v, as before", then.what, now, err)
		}
		last = now
	}
	if got, err := ReadTCPCounters(1 << 30); err == nil {
		t.Errorf("a process that there is not: %+v", got)
	}
}

// They are found by their names. A kernel that lacks one is not believed.
func TestNamesOfCounters(t *testing.T) {
	const ip = "Ip: Forwarding DefaultTTL\nIp: 2 64\n"
	for text, want := range map[string]TCPCounters{
		ip + "Tcp: MaxConn ActiveOpens PassiveOpens AttemptFails EstabResets CurrEstab InSegs\nTcp: -1 1 2 3 4 5 6\n": {
			1, 2, 3, 4, 5},
		ip + "Tcp: CurrEstab InSegs EstabResets ActiveOpens AttemptFails PassiveOpens\nTcp: 5 6 4 1 3 2\n": {1, 2, 3, 4, 5},
		ip + "Tcp: ActiveOpens PassiveOpens AttemptFails EstabResets\nTcp: 1 2 3 4\n":                      {},
		ip + "Tcp: ActiveOpens PassiveOpens AttemptFails EstabResets CurrEstab\nTcp: 1 2 3 4\n":            {},
		ip + "Tcp: ActiveOpens PassiveOpens AttemptFails EstabResets CurrEstab\nTcp: 1 2 3 x 5\n":          {},
		ip + "Tcp: ActiveOpens\n": {}, ip: {}, "": {},
	} {
		got, err := parseTCPCounters([]byte(text))
		if (err == nil) != (want != TCPCounters{}) || err == nil && got != want {
			t.Errorf("%q: got %+v, %v, want %+v", text, got, err, want)
		}
	}
}
