package drive

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/measure"
)

// serveFloor serves until the test ends.
func serveFloor(t *testing.T, network, at string, in, out int) *Floor {
	t.Helper()
	f, err := ListenFloor(network, literal(at), in, out)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- f.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return f
}

func TestFloor(t *testing.T) {
	for _, network := range []string{"tcp", "udp"} {
		for _, at := range []string{"127.0.0.1:0", "[::1]:0"} {
			for _, size := range [][2]int{{1, 1}, {100, 100}, {60_000, 3}, {5, 65_000}, {3_000_000, 2_000_000}} {
				if network == "udp" && size[0] > mostDatagram {
					continue
				}
				for _, concurrency := range []int{1, 3} {
					t.Run(fmt.Sprint(network, at, size, concurrency),
						func(t *testing.T) { testFloor(t, network, at, size[0], size[1], concurrency) })
				}
			}
		}
	}
}

// One server at a time: each holds a P while it waits.
func testFloor(t *testing.T, network, at string, in, out, concurrency int) {
	f := serveFloor(t, network, at, in, out)
	s := Spec{URL: network + "://" + f.Addr().String(), Answer: out, Concurrency: concurrency}
	_, xs := drive(t, s, Load{Schedule: ClosedLoop(23, 0)}, Fixed(strings.Repeat("x", in)))
	sound(t, xs)
	if len(xs) != 23 || f.Served() != 23 || xs[22].Out != int64(in) || xs[22].In != int64(out) {
		t.Errorf("%d exchanges, %d served, %d B out, %d B in", len(xs), f.Served(), xs[22].Out, xs[22].In)
	}
}

func TestFloorConnectionPerRequest(t *testing.T) {
	f := serveFloor(t, "tcp", "127.0.0.1:0", 10, 20)
	for _, concurrency := range []int{1, 3} {
		s := Spec{URL: "tcp://" + f.Addr().String(), Answer: 20, Concurrency: concurrency, Connection: PerRequest}
		_, xs := drive(t, s, Load{Schedule: ClosedLoop(23, 0)}, Fixed("0123456789"))
		sound(t, xs)
	}
	if f.Served() != 46 {
		t.Errorf("served %d of 46", f.Served())
	}
}

// A hasty call waits long for each answer, as a busy machine needs, but for that to the request that gets none.
type hasty struct {
	Fixed
	driver *Driver
	lost   uint64
}

func (h hasty) Encode(seq uint64, buf []byte) ([]byte, error) {
	if h.driver.Timeout = time.Minute; seq == h.lost {
		h.driver.Timeout = 300 * time.Millisecond
	}
	return h.Fixed.Encode(seq, buf)
}

// What is not agreed is a failure, and the next exchange is not disturbed by it.
func TestFloorWrongAnswers(t *testing.T) {
	l, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		buf := make([]byte, 100)
		for i := 1; ; i++ {
			n, from, err := l.ReadFrom(buf)
			switch {
			case err != nil:
				return
			case i == 2: // lost
			case i == 3:
				l.WriteTo(buf[:n+1], from)
			default:
				l.WriteTo(buf[:n], from)
			}
		}
	}()
	for _, concurrency := range []int{1, 2} {
		d, err := Dial(t.Context(), Spec{URL: "udp://" + l.LocalAddr().String(), Answer: 5, Concurrency: concurrency})
		if err != nil {
			t.Fatal(err)
		}
		call := hasty{Fixed("hello"), d, 0}
		if concurrency == 1 {
			call.lost = 2
		}
		record, err := d.Run(t.Context(), Load{Schedule: ClosedLoop(4, 0), Record: true}, call)
		d.Close()
		if err != nil {
			t.Fatal(err)
		}
		var failures []string
		for x := range record.Exchanges() {
			failures = append(failures, x.Failure)
		}
		want := []string{"", "no response within 300ms", "response: not the agreed 5 bytes", ""}
		if concurrency == 2 {
			want = make([]string, 4) // the server has lost what it loses
		}
		if !slices.Equal(failures, want) {
			t.Errorf("concurrency %d: got %q, want %q", concurrency, failures, want)
		}
	}
	closed := l.LocalAddr().String()
	l.Close()
	_, xs := drive(t, Spec{URL: "udp://" + closed, Answer: 5}, Load{Schedule: ClosedLoop(1, 0)}, Fixed("hello"))
	if xs[0].Failure != "connection refused" {
		t.Errorf("closed port: %q", xs[0].Failure)
	}
}

func TestFloorSizesRefused(t *testing.T) {
	for _, c := range []struct {
		network string
		in, out int
	}{{"tcp", 0, 1}, {"tcp", 1, 0}, {"udp", 70_000, 1}, {"udp", 1, 70_000}, {"sctp", 1, 1},
		{"tcp", 1 << 30, MostBody + 1}} {
		if f, err := ListenFloor(c.network, literal("127.0.0.1:0"), c.in, c.out); err == nil {
			f.Close()
			t.Errorf("%v: listens", c)
		}
	}
}

// Only floors that are told so share an address.
func TestFloorsShareAnAddress(t *testing.T) {
	one, err := ListenFloorShared(literal("127.0.0.1:0"), 5, 7)
	if err != nil {
		t.Fatal(err)
	}
	defer one.Close()
	other, err := ListenFloorShared(one.Addr(), 5, 7)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if f, err := ListenFloor("tcp", one.Addr(), 5, 7); err == nil {
		f.Close()
		t.Error("a floor that shares nothing listens there, too")
	}
}

// What a child does and its parent reads is what a run in this process gives.
func TestExec(t *testing.T) {
	f := serveFloor(t, "tcp", "127.0.0.1:0", 5, 7)
	job := Job{Spec: Spec{URL: "tcp://" + f.Addr().String(), Answer: 7}, Body: []byte("hello"), Requests: 500, WarmUp: 20}
	var xs []measure.Exchange
	collect := func(x measure.Exchange) error { xs = append(xs, x); return nil }
	result, err := Exec(t.Context(), []string{"/proc/self/exe", "drive"}, job, 0, collect)
	if err != nil {
		t.Fatal(err)
	}
	sound(t, xs)
	q := result.Quality
	if len(xs) != 500 || f.Served() != 520 || result.Exchanges != 500 || result.Address != f.Addr().String() ||
		result.Stopped {
		t.Errorf("%d exchanges, %d served, result %+v", len(xs), f.Served(), result)
	}
	if !slices.Equal(q.CPUs, []int{0}) || q.GOMAXPROCS < 2 || q.CPU <= 0 || q.Elapsed < xs[499].Done ||
		q.Watched < q.Elapsed || q.StartedMonotonic == 0 {
		t.Errorf("quality %+v", q)
	}
	job.Connection, xs = PerRequest, nil
	if _, err = Exec(t.Context(), []string{"/proc/self/exe", "drive"}, job, AnyCPU, collect); err != nil {
		t.Fatal(err)
	}
	sound(t, xs)
	for _, x := range xs {
		if x.Connection <= 0 || x.Connection+x.Serialization+x.RTT()+x.Deserialization > x.Total {
			t.Fatalf("a connection for each request, of a child: %+v", x)
		}
	}
	for name, j := range map[string]Job{
		"no end":       {Spec: job.Spec, Body: job.Body},
		"no rate":      {Spec: job.Spec, Requests: 1, Arrivals: Even},
		"bad arrivals": {Spec: job.Spec, Requests: 1, Arrivals: "bursts"},
		"bad spec":     {Spec: Spec{URL: "gopher://x"}, Requests: 1},
	} {
		if _, err := Exec(t.Context(), []string{"/proc/self/exe", "drive"}, j, AnyCPU, collect); err == nil ||
			strings.Contains(err.Error(), "child exited") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Exec(t.Context(), []string{"/proc/self/exe", "drive"}, job, 1023, collect); err == nil ||
		!strings.Contains(err.Error(), "pin to CPU 1023") {
		t.Errorf("CPU that is not there: %v", err)
	}
	if _, err := Exec(t.Context(), []string{"/bin/false"}, job, AnyCPU, collect); err == nil {
		t.Error("a child that dies gives no error")
	}
}

func TestExecStopsEarly(t *testing.T) {
	f := serveFloor(t, "udp", "127.0.0.1:0", 5, 5)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for f.Served() < 10 {
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	n := 0
	job := Job{Spec: Spec{URL: "udp://" + f.Addr().String(), Answer: 5}, Body: []byte("hello"), Duration: time.Minute}
	result, err := Exec(ctx, []string{"/proc/self/exe", "drive"}, job, AnyCPU,
		func(measure.Exchange) error { n++; return nil })
	if err != context.Canceled || !result.Stopped || n < 10 || n != result.Exchanges {
		t.Errorf("%v, %d exchanges, result %+v", err, n, result)
	}
}

// A child that is stopped ends with its context, by force.
func TestStoppedChildEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := Exec(ctx, []string{"sh", "-c", `kill -STOP $$`}, Job{}, AnyCPU, func(measure.Exchange) error { return nil })
		ended <- err
	}()
	select {
	case err := <-ended:
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	case <-time.After(time.Minute):
		t.Error("it is waited for")
	}
}

// A child that is stopped is not waited for, though nobody ends its context.
func TestStoppedChildIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	job := Job{Requests: 1}
	_, err := Exec(t.Context(), []string{"sh", "-c", `kill -STOP $$`}, job, AnyCPU,
		func(measure.Exchange) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "has stopped it, so it was ended") {
		t.Errorf("got %v", err)
	}
}

// A child is overdue when its job's time is over, or when it is found stopped time after time, and not when it was
// stopped for a moment. Seconds in which its parent does not run are not counted.
func TestOverdue(t *testing.T) {
	for _, tt := range []struct {
		what    string
		most    time.Duration
		stopped string // s: found stopped, r: found running; then its end
		want    string // empty: it was waited for
	}{
		{"in time", 4 * time.Second, "rrr", ""},
		{"too long", 3 * time.Second, "rrrr", "did not end within 3s"},
		{"stopped", time.Hour, "rrsssss", "has stopped it"},
		{"stopped for a while, and again", time.Hour, "ssssrssssrr", ""},
	} {
		seconds, over, why := make(chan time.Time), make(chan struct{}), make(chan error, 1)
		at := 0
		go func() {
			why <- overdue(seconds, over, tt.most, func() bool {
				at++
				return tt.stopped[at-1] == 's'
			})
		}()
		for range tt.stopped {
			seconds <- time.Time{}
		}
		close(over)
		if err := <-why; (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", tt.what, err, tt.want)
		}
	}
}

// The time that a job is given is more than it can take.
func TestMostTimeOfAJob(t *testing.T) {
	const spare, s = 2 * time.Minute, time.Second
	timeout := Spec{Timeout: s, Concurrency: 10}
	for _, tt := range []struct {
		what        string
		job         Job
		least, most time.Duration // without the time to spare
	}{
		{"a thousand requests", Job{Spec: timeout, Requests: 1000}, 100 * s, 500 * s},
		{"for a while", Job{Spec: timeout, Duration: time.Minute}, time.Minute, 4 * time.Minute},
		{"a thousand, or for a while", Job{Spec: timeout, Requests: 1000, Duration: time.Minute}, time.Minute,
			4 * time.Minute},
		{"at a rate", Job{Spec: timeout, Requests: 1000, Rate: 10, Arrivals: Even}, 100 * s, 500 * s},
		{"at a rate for a while, of which all time out", Job{Spec: timeout, Duration: time.Minute, Rate: 100,
			Arrivals: Even}, 600 * s, 3000 * s},
		{"with a warm-up and pauses", Job{Requests: 10, WarmUp: 10, Pause: s}, 110 * s, 500 * s},
		{"for ever", Job{Spec: timeout, Duration: 1 << 62}, 1 << 61, 1 << 62},
	} {
		if got := tt.job.most() - spare; got < tt.least || got > tt.most {
			t.Errorf("%s: %v, want %v to %v", tt.what, got, tt.least, tt.most)
		}
	}
}

func TestCollectRefusesDamage(t *testing.T) {
	head := `{"format":2,"exchanges":1,"reasons":[""]}` + "\n"
	for name, in := range map[string]string{
		"nothing": "", "no JSON": "hello\n", "newer": `{"format":3}` + "\n", "cut": head + "abc",
		"failure unknown": head + strings.Repeat("\x01", rowBytes), "an error": `{"format":2,"error":"it is broken"}` + "\n",
	} {
		if _, err := Collect(strings.NewReader(in), func(measure.Exchange) error { return nil }); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	if _, err := Collect(strings.NewReader(head+strings.Repeat("\x00", rowBytes)),
		func(measure.Exchange) error { return fmt.Errorf("disk full") }); err == nil || err.Error() != "disk full" {
		t.Errorf("the receiver's error is lost: %v", err)
	}
}

// A killed parent closes the pipe, and with it ends the child in mid-request.
func TestChildEndsWithStdin(t *testing.T) {
	l, err := net.ListenPacket("udp", "127.0.0.1:0") // never answers
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	cmd := exec.Command("/proc/self/exe", "drive")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	spec := Spec{URL: "udp://" + l.LocalAddr().String(), Answer: 5, Timeout: 10 * time.Minute}
	if err := Order(stdin, Job{Spec: spec, Body: []byte("hello"), Requests: 1}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := l.ReadFrom(make([]byte, 9)); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	stdin.Close()
	_ = cmd.Wait()
	if took := time.Since(began); took > 30*time.Second { // the request may take 10 minutes
		t.Errorf("the child lived on for %v", took)
	}
}
