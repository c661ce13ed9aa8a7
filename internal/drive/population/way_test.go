package population

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"testing"
	"time"
)

// When datagrams arrive over a link, by arithmetic: 72 B and headers of 28 B at 8000 bit/s take 100 ms.
func TestCross(t *testing.T) {
	const ms = int64(time.Millisecond)
	for _, tt := range []struct {
		name string
		way  Way
		sent []int64 // ms, each 72 B
		want []int64
	}{
		{"delay", Way{Delay: 40e6}, []int64{0, 1}, []int64{40, 41}},
		{"rate: the second waits for the first", Way{Rate: 8000, Delay: 40e6}, []int64{0, 50, 500}, []int64{140, 240, 640}},
		{"overhead", Way{Rate: 8000, Overhead: 25}, []int64{0}, []int64{125}},
		{"two frames", Way{Rate: 8000, Overhead: 25, Frame: 99}, []int64{0}, []int64{150}},
		{"all is lost", Way{Loss: 1, Rate: 8000}, []int64{0}, []int64{-1}},
	} {
		var c course
		r := rand.New(rand.NewPCG(1, 1))
		for i, at := range tt.sent {
			got := tt.way.cross(&c, 72, at*ms, r)
			if want := tt.want[i]; want < 0 && got != never || want >= 0 && got != want*ms {
				t.Errorf("%s: datagram %d arrives at %d, want %d ms", tt.name, i, got, want)
			}
		}
	}
	var c course
	r := rand.New(rand.NewPCG(1, 1))
	lost, overtaken, last := 0, 0, int64(0)
	w := Way{Delay: 10e6, Spread: 10e6, Loss: 0.25}
	for i := range 4000 {
		at := w.cross(&c, 72, int64(i)*ms, r)
		if at == never {
			lost++
			continue
		}
		if at < last {
			overtaken++
		}
		last = at
	}
	if math.Abs(float64(lost)-1000) > 110 || overtaken > 0 { // 4 standard errors of 27
		t.Errorf("%d of 4000 were lost, want 1000; %d overtook another", lost, overtaken)
	}
}

// Requests and answers take their ways: the server gets what was not lost, and no exchange is quicker than
// the link lets it be.
func TestDevicesBehindLink(t *testing.T) {
	// A machine that is busy makes all exchanges of a run late, now and then; none makes one quicker than the link.
	late := behindLink(t)
	for try := 1; late != "" && try < 5; try++ {
		late = behindLink(t)
	}
	if late != "" {
		t.Error(late)
	}
}

// behindLink is a run of devices behind a link, and says of a right one how it was late.
func behindLink(t *testing.T) (late string) {
	t.Helper()
	conn, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(loopbackAny))
	if err != nil {
		t.Fatal(err)
	}
	var c counter
	c.serve(t, conn)
	spec := posted(60, time.Second, conn.LocalAddr())
	spec.NON, spec.Timeout = true, 900*time.Millisecond
	spec.Up, spec.Down = Way{Delay: 100e6, Rate: 20_000, Loss: 0.2}, Way{Delay: 50e6, Rate: 100_000}
	p, err := New(spec)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	r, err := p.Run(t.Context(), Load{For: 2 * time.Second, Record: true})
	if err != nil {
		t.Fatal(err)
	}
	least := time.Hour
	for x := range r.Exchanges() {
		if x.Failure == "" {
			least = min(least, x.RTT())
		}
	}
	out, in := float64(r.BytesOut)/float64(r.DatagramsOut), float64(r.BytesIn)/float64(r.DatagramsIn)
	link := 150*time.Millisecond + time.Duration((out+headers)*8e9/20_000+(in+headers)*8e9/100_000)
	// Where the machine was so busy that others failed, too, the run may have ended before it sent what was on the way.
	underway := r.DatagramsOut - int64(c.served()) - r.LostOnWay
	said := fmt.Sprintf("the server got %d; the quickest exchange took %v of %v; got %+v", c.served(), least, link,
		r.Counts)
	if underway < 0 || underway > r.Failed-r.LostOnWay || r.LostOnWay < 5 || r.LostOnWay > 50 || least < link {
		t.Error(said)
	}
	if least > link+300*time.Millisecond {
		return said
	}
	return ""
}
