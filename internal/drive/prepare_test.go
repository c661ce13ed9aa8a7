package drive

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

type prepared struct {
	Fixed
	takes time.Duration
	fail  uint64 // this request's preparation fails
}

func (p prepared) Prepare(seq uint64, patience time.Duration) error {
	time.Sleep(p.takes)
	if seq == p.fail || patience != time.Minute {
		return errors.New("nobody answered")
	}
	return nil
}

func TestPreparationIsPartOfTheRTT(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Write([]byte("x")) }))
	defer s.Close()
	d, err := Dial(t.Context(), Spec{URL: s.URL, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	const takes = 30 * time.Millisecond
	record, err := d.Run(t.Context(), Load{Schedule: ClosedLoop(3, 0), Record: true}, prepared{Fixed("a"), takes, 2})
	if err != nil {
		t.Fatal(err)
	}
	for x := range record.Exchanges() {
		switch {
		case x.Seq == 2 && (x.Failure != "nobody answered" || x.Done != 0):
			t.Errorf("an unprepared request: %+v", x)
		case x.Seq != 2 && (x.Failure != "" || x.RTT() < takes || x.Total < x.Serialization+x.RTT()+x.Deserialization):
			t.Errorf("got %+v", x)
		}
	}
	many, err := Dial(t.Context(), Spec{URL: s.URL, Concurrency: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer many.Close()
	if _, err := many.Run(t.Context(), Load{Schedule: ClosedLoop(3, 0)}, prepared{}); err == nil ||
		!strings.Contains(err.Error(), "set concurrency 1") {
		t.Errorf("two connections: %v", err)
	}
}

func TestNagleIsOnWhereAskedFor(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	defer s.Close()
	for _, nagle := range []bool{false, true} {
		d, err := Dial(t.Context(), Spec{URL: s.URL, Nagle: nagle})
		if err != nil {
			t.Fatal(err)
		}
		nodelay, err := unix.GetsockoptInt(d.lanes[0].pipe.(*rawPipe).fd, unix.IPPROTO_TCP, unix.TCP_NODELAY)
		if err != nil || (nodelay == 0) != nagle {
			t.Errorf("nagle %v: TCP_NODELAY is %d, %v", nagle, nodelay, err)
		}
		d.Close()
	}
}
