package drive

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A patient peer answers nothing before so many requests are in flight, and
// then the oldest for each one that comes: every event at the driver is one
// request's, whatever is in flight.
type patient struct {
	inFlight, requests int
	seen               int
	open               []uint32
}

// came takes a request and returns those to answer now.
func (p *patient) came(id uint32) []uint32 {
	p.open = append(p.open, id)
	p.seen++
	n := 0
	switch {
	case p.seen == p.requests:
		n = len(p.open)
	case len(p.open) >= p.inFlight:
		n = 1
	}
	now := p.open[:n]
	p.open = p.open[n:]
	return now
}

// patientHTTP2 serves one run after the other, of so many requests each.
func patientHTTP2(t testing.TB, cpu *unix.CPUSet, inFlight, requests int, grpc bool) string {
	return "http://" + serveOne(t, cpu, func(conn io.ReadWriter) {
		in := bufio.NewReaderSize(conn, 1<<16)
		if _, err := io.ReadFull(in, make([]byte, len(http2Preface))); err != nil {
			return
		}
		settings := binary.BigEndian.AppendUint16(appendFrame(nil, 6, frameSettings, 0, 0), settingStreams)
		conn.Write(binary.BigEndian.AppendUint32(settings, 1<<20))
		p := &patient{inFlight: inFlight, requests: requests}
		var out []byte
		for {
			var h [http2HeaderBytes]byte
			if _, err := io.ReadFull(in, h[:]); err != nil {
				return
			}
			size := int(h[0])<<16 | int(h[1])<<8 | int(h[2])
			in.Discard(size)
			if h[3] == frameData && size > 0 { // give the window back
				out = binary.BigEndian.AppendUint32(appendFrame(out, 4, frameWindow, 0, 0), uint32(size))
			}
			if h[4]&flagEndStream != 0 && (h[3] == frameData || h[3] == frameHeaders) {
				for _, id := range p.came(binary.BigEndian.Uint32(h[5:])) {
					out = patientAnswer(out, id, grpc)
				}
				if p.seen == p.requests {
					p.seen = 0
				}
				conn.Write(out)
				out = out[:0]
			}
		}
	})
}

func patientAnswer(b []byte, id uint32, grpc bool) []byte {
	if !grpc {
		return append(b, http2OK(id)...)
	}
	b = append(appendFrame(b, 1, frameHeaders, flagEndHeaders, id), 0x88)
	b = append(appendFrame(b, grpcPrefix, frameData, 0, id), 0, 0, 0, 0, 0)
	trailer := "\x00\x0bgrpc-status\x010" // literal, not indexed
	return append(appendFrame(b, len(trailer), frameHeaders, flagEndHeaders|flagEndStream, id), trailer...)
}

// patientHTTP1 is the same for a pipeline.
func patientHTTP1(t testing.TB, cpu *unix.CPUSet, inFlight, requests int) string {
	return "http://" + serveOne(t, cpu, func(conn io.ReadWriter) {
		in := bufio.NewReaderSize(conn, 1<<16)
		p := &patient{inFlight: inFlight, requests: requests}
		for {
			r, err := http.ReadRequest(in)
			if err != nil {
				return
			}
			io.Copy(io.Discard, r.Body)
			for range p.came(0) {
				io.WriteString(conn, ok)
			}
			if p.seen == p.requests {
				p.seen = 0
			}
		}
	})
}

// serveOne serves each connection in turn, from a thread that keeps to one CPU
// and blocks in the kernel.
func serveOne(t testing.TB, cpu *unix.CPUSet, serve func(io.ReadWriter)) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		runtime.LockOSThread() // for good: the thread ends with the goroutine
		if err := unix.SchedSetaffinity(0, cpu); err != nil {
			t.Error(err)
		}
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			f, err := c.(*net.TCPConn).File()
			if err != nil {
				t.Error(err)
				return
			}
			fd := int(f.Fd())
			unix.SetNonblock(fd, false)
			serve(blockingSocket(fd))
			f.Close()
			c.Close()
		}
	}()
	return l.Addr().String()
}

// A blockingSocket does without the runtime's poller.
type blockingSocket int

func (fd blockingSocket) Read(b []byte) (int, error) {
	n, err := unix.Read(int(fd), b)
	if n == 0 && err == nil {
		err = io.EOF
	}
	return max(n, 0), err
}

func (fd blockingSocket) Write(b []byte) (int, error) {
	n, err := unix.Write(int(fd), b)
	return max(n, 0), err
}

// onOneCPU keeps the calling thread to one CPU until the test ends. With the peer
// there too the driver waits in the kernel for every answer; on two it depends on the
// moment whether the answer is there already, which costs a third less.
func onOneCPU(t testing.TB) *unix.CPUSet {
	var all, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		t.Fatal(err)
	}
	cpu := 0
	for !all.IsSet(cpu) {
		cpu++
	}
	one.Set(cpu)
	runtime.LockOSThread()
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		unix.SchedSetaffinity(0, &all)
		runtime.UnlockOSThread()
	})
	return &one
}

// threadCPU is the CPU time of this thread, which drives.
func threadCPU() time.Duration {
	var ts unix.Timespec
	unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts)
	return time.Duration(ts.Nano())
}

// settled is how many requests, each answered by itself, come before the
// measured ones: buffers have grown, the window stands.
const settled = 200

// A steady call notes the driving thread's CPU time at every tenth request from
// one on that is behind the burst that fills the window. Each of these requests
// is sent because one answer came, alone: as many reads and writes a request
// whatever is in flight. The bursts at a run's ends, where one read serves many,
// are left out.
type steady struct {
	Fixed
	from uint64
	cpu  []time.Duration
}

const stride = 10

// Encode is called by the driving thread.
func (s *steady) Encode(seq uint64, buf []byte) ([]byte, error) {
	if seq >= s.from && (seq-s.from)%stride == 0 {
		s.cpu = append(s.cpu, threadCPU())
	}
	return s.Fixed.Encode(seq, buf)
}

// cost is the median of the strides, in ns a request: what interrupts some of
// them does not count.
func (s *steady) cost() float64 {
	var all []float64
	for i := range s.cpu[1:] {
		all = append(all, float64(s.cpu[i+1]-s.cpu[i])/stride)
	}
	return median(all)
}

func median(x []float64) float64 {
	x = slices.Sorted(slices.Values(x))
	return (x[len(x)/2] + x[(len(x)-1)/2]) / 2
}

// inFlightCosts is the driver's CPU time in ns for a request with 1, 100 and
// 1,000 in flight on one connection, and the ratio of each to the first: medians
// of alternating rounds, the ratios being of one round. each is how many
// requests a round measures.
func inFlightCosts(t testing.TB, protocol string, rounds, each int) (costs, ratios [3]float64) {
	cpu := onOneCPU(t)
	inFlight := [3]int{1, 100, 1000}
	var drivers [3]*Driver
	for i, n := range inFlight {
		s := Spec{Protocol: protocol, Concurrency: n, Connection: Multiplexed, Timeout: time.Minute}
		if requests := n + settled + each; protocol == HTTP1 {
			s.URL, s.Connection = patientHTTP1(t, cpu, n, requests), Pipelined
		} else {
			s.URL = patientHTTP2(t, cpu, n, requests, protocol == GRPC)
		}
		d, err := Dial(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		drivers[i] = d
	}
	var cost, ratio [3][]float64
	for range rounds {
		for i, d := range drivers {
			requests := inFlight[i] + settled + each
			call := &steady{Fixed: Fixed("0123456789"), from: uint64(requests - each), cpu: make([]time.Duration, 0, each)}
			r, err := d.Run(t.Context(), Load{Schedule: ClosedLoop(requests, 0), Record: true}, call)
			if err != nil || r.Len() != requests || len(call.cpu) < 3 {
				t.Fatalf("%s: %d exchanges, %d strides, %v", protocol, r.Len(), len(call.cpu), err)
			}
			for x := range r.Exchanges() {
				if x.Failure != "" {
					t.Fatalf("%s: request %d: %s", protocol, x.Seq, x.Failure)
				}
			}
			cost[i] = append(cost[i], call.cost())
			ratio[i] = append(ratio[i], cost[i][len(cost[i])-1]/cost[0][len(cost[0])-1])
		}
	}
	for i := range costs {
		costs[i], ratios[i] = median(cost[i]), median(ratio[i])
	}
	return costs, ratios
}

// What a request costs the driver does not depend on how many others are in
// flight. The limit leaves room for a busy machine, and still sees a look at each of
// 1,000 at every event (twice to four times the cost).
func TestCostIsOfTheRequestNotOfWhatIsInFlight(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	for _, protocol := range []string{HTTP1, HTTP2, GRPC} {
		costs, ratios := inFlightCosts(t, protocol, 20, 300)
		t.Logf("%s: %.0f ns a request alone, %.3f times as much at 100 in flight, %.3f at 1000", protocol, costs[0],
			ratios[1], ratios[2])
		if most := max(ratios[1], ratios[2]); most > 1.3 {
			t.Errorf("%s: %.0f ns a request alone, up to %.2f times as much with others in flight", protocol, costs[0], most)
		}
	}
}

// BenchmarkInFlight prints the costs and their ratios; 10 % is aimed at.
func BenchmarkInFlight(b *testing.B) {
	for _, protocol := range []string{HTTP1, HTTP2, GRPC} {
		b.Run(protocol, func(b *testing.B) {
			for range b.N {
				costs, ratios := inFlightCosts(b, protocol, 60, 1_000)
				for i, n := range []int{1, 100, 1000} {
					b.ReportMetric(costs[i], fmt.Sprintf("ns/request@%d", n))
				}
				b.ReportMetric(ratios[1], "ratio@100")
				b.ReportMetric(ratios[2], "ratio@1000")
			}
		})
	}
}

// Nothing is connected and the next request is due later: the driver sleeps.
func TestMultiplexSleepsWithoutAConnection(t *testing.T) {
	url := http2Peer(t, func(conn net.Conn, number int, stream uint32) {
		conn.Write(http2OK(stream))
		time.Sleep(2 * time.Millisecond)
		conn.Close()
	})
	// GET, since on a busy machine the connection may end with the next request already sent
	d, err := Dial(t.Context(), Spec{URL: url, Method: "GET", Protocol: HTTP2, Connection: Multiplexed,
		Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := threadCPU()
	r, err := d.Run(t.Context(), Load{Schedule: Constant(5, 3, 0), Record: true}, Fixed("x"))
	if err != nil {
		t.Fatal(err)
	}
	for x := range r.Exchanges() {
		if x.Failure != "" {
			t.Errorf("request %d: %s", x.Seq, x.Failure)
		}
	}
	if cpu := threadCPU() - before; cpu > r.Quality.Elapsed/4 {
		t.Errorf("%v of CPU time in a run of %v with 3 requests", cpu, r.Quality.Elapsed)
	}
}
