package drive

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/measure"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "drive" {
		if err := Main(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if len(os.Args) > 1 && os.Args[1] == "collect" {
		collectBesideFloors()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// drive runs a schedule against a URL and returns what was recorded. An answer may take a busy machine a minute, if
// nothing else is said.
func drive(t *testing.T, s Spec, load Load, call Call) (*Record, []measure.Exchange) {
	t.Helper()
	return driveWithin(t, 0, s, load, call)
}

// driveWithin is drive whose requests have a timeout, and not the connections that are made before them: a busy machine
// may take longer for these.
func driveWithin(t *testing.T, timeout time.Duration, s Spec, load Load, call Call) (*Record, []measure.Exchange) {
	t.Helper()
	s.Timeout = cmp.Or(s.Timeout, time.Minute)
	d, err := Dial(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if timeout > 0 {
		d.Timeout = timeout
	}
	load.Record = true
	r, err := d.Run(t.Context(), load, call)
	if err != nil {
		t.Fatal(err)
	}
	return r, slices.Collect(r.Exchanges())
}

// sound checks what holds for every exchange of a run.
func sound(t *testing.T, xs []measure.Exchange) {
	t.Helper()
	for i, x := range xs {
		switch {
		case x.Seq != uint64(i)+1:
			t.Errorf("exchange %d: seq %d", i, x.Seq)
		case x.Failure != "":
			t.Errorf("exchange %d: failed: %s", x.Seq, x.Failure)
		case x.Due > x.Sent || x.Sent > x.Done:
			t.Errorf("exchange %d: due %v, sent %v, done %v: not in order", x.Seq, x.Due, x.Sent, x.Done)
		case x.Serialization+x.RTT()+x.Deserialization > x.Total:
			t.Errorf("exchange %d: phases %v, %v, %v exceed the total %v", x.Seq, x.Serialization, x.RTT(),
				x.Deserialization, x.Total)
		}
		if t.Failed() {
			return
		}
	}
}

// hostile runs a server that does with each connection what serve says; it is
// told how many connections there were before.
func hostile(t *testing.T, serve func(c net.Conn, before int)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for i := 0; ; i++ {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				c.SetDeadline(time.Now().Add(time.Minute))
				serve(c, i)
			}()
		}
	}()
	return "http://" + l.Addr().String() + "/"
}

func literal(s string) netip.AddrPort { return netip.MustParseAddrPort(s) }
