package testbed

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/lab"
	"edgegauge.example/edgegauge/internal/link"
	"edgegauge.example/edgegauge/internal/stat"
)

// Where a link will make trials invalid that is advised: what is sent again too rarely within timeouts.request, or in
// many packets and not at all. Of one packet that nobody sends again trials are valid, and with failures, too.
func TestLinksThatMakeTrialsInvalid(t *testing.T) {
	b := bed(t)
	const con, non = "stack: coap-cbor\n", "stack: coap-cbor\noptions: {confirmable: off}\n"
	for _, x := range []struct{ study, want string }{
		{con + "link: {delay: 5ms, loss: 10%}\nrequests: 20", "s.yaml:4:7: behind link delay=5ms loss=10% 3.6 % or more of " +
			"the requests fail: CoAP sends again after 2 to 3 s, twice that and so on, so 2 attempts at most fit into " +
			"timeouts.request, 5s, which may be longer; so about 16 % or more of the trials will be invalid, as without " +
			"failures those are of which 2 or more of 20 requests fail; write failures: 20%"},
		{con + "link: {loss: 99.999%}\nrequests: 20", "99.999% nearly all requests fail: CoAP sends"},
		{con + "link: {loss: 99.999%}\nrequests: 20", "so nearly all trials will be invalid, as without failures"},
		{con + "link: {loss: 99.99999999999999%}\nrequests: 20", "write failures: 100%"},
		{con + "link: {loss: 1}\nrequests: 20", ""}, // is refused
		{con + "link: {down: {loss: 100%}}\nrequests: 20", ""},
		{con + "link: {delay: 5ms, loss: 10%}\nrequests: 20\nfailures: 20%", ""},
		{con + "link: {delay: 5ms, loss: 10%}\nrequests: 20\ntimeouts: {request: 30s}", ""},
		{con + "link: {delay: 5ms, loss: 1%}\nrequests: 20", ""},
		{con + "link: {delay: 5ms, up: {loss: 10%}}\nrequests: 20", ""}, // 1 % fail
		{con + "link: {delay: 5ms, loss: 10%}\nduration: 20s", ""},
		{con + "link: {delay: 5ms, loss: 10%, loss_burst: 5}\nrequests: 20", ""},
		{con + "factors: {link: [none, {delay: 5ms, loss: 20%}]}\nrequests: 50", "4:24: behind link delay=5ms loss=20% 13 %"},
		{con + "service: sort\nsize: 4kB\nlink: {delay: 5ms, loss: 10%}\nrequests: 20", "7.1 % or more"},
		{con + "link: {delay: 5ms, loss: 10%}\ndevices: 20\nperiod: 9s", ""},
		{non + "link: {delay: 5ms, loss: 10%}\nrequests: 20", ""},
		{non + "service: sort\nsize: 40kB\nlink: {delay: 5ms, loss: 10%}\nrequests: 40", "each is 12 blocks, and nobody " +
			"sends again what is lost"},
		{"stack: floor-udp\nlink: {delay: 5ms, loss: 10%}\nrequests: 20", ""},
		{"stack: rest-json\nlink: {delay: 5ms, loss: 10%}\nrequests: 20", ""},
	} {
		text := "study: s\n"
		if !strings.Contains(x.study, "service:") {
			text += "service: monitor\n"
		}
		p, err := b.Read(t.Context(), "s.yaml", []byte(text+x.study+"\n"))
		if err != nil {
			t.Errorf("%s: %v", x.study, err)
			continue
		}
		got := b.AdviseLinks(p)
		if said := fmt.Sprint(got); (len(got) == 0) != (x.want == "") || len(got) > 1 || !strings.Contains(said, x.want) {
			t.Errorf("%s: got %s, want %s", x.study, said, x.want)
		}
	}
}

// The shares agree with those of drawn exchanges: each attempt is lost up or down, and the timeout doubles.
func TestUnansweredIsWhatIsDrawn(t *testing.T) {
	r := rand.New(rand.NewPCG(30, 11))
	const draws = 40_000
	for _, x := range []struct {
		up, down  float64
		roundTrip time.Duration
		patience  time.Duration
	}{{0.1, 0.1, 10 * time.Millisecond, 5 * time.Second}, {0.3, 0, time.Second, 8 * time.Second},
		{0.2, 0.3, 0, 500 * time.Second}} {
		failed := 0
		for range draws {
			at, wait, answered := time.Duration(0), 2*time.Second+time.Duration(r.Int64N(int64(time.Second))), false
			for range 5 {
				lost := r.Float64() < x.up || r.Float64() < x.down
				answered = answered || !lost && at+x.roundTrip < x.patience
				at, wait = at+wait, 2*wait
			}
			if !answered {
				failed++
			}
		}
		p, _ := unanswered(1-(1-x.up)*(1-x.down), x.roundTrip, x.patience)
		if got := float64(failed) / draws; math.Abs(got-p) > 5*math.Sqrt(p*(1-p)/draws) {
			t.Errorf("%+v: %g fail, want %g", x, p, got)
		}
	}
}

// What is said of a plan is what the gate does: of drawn trials so many have more failures than it bears.
func TestBearsIsSteady(t *testing.T) {
	b := bed(t)
	p, err := b.Read(t.Context(), "s.yaml", []byte("study: s\nservice: monitor\nstack: coap-cbor\nrequests: 20\n"+
		"factors: {options.confirmable: [on, off]}\nlink: {delay: 5ms, loss: 10%}\n"))
	if err != nil {
		t.Fatal(err)
	}
	l := link.Link{Up: link.Shape{Loss: 0.1}, Down: link.Shape{Loss: 0.1}}
	for _, trial := range p.Trials[:2] {
		once, bears := trial.Setup.SentOnce(), true
		for failed := range 21 { // once it bears no more, it never does
			now := lab.Bears(trial.Setup, l, failed, 20)
			if now && !bears || now != (failed <= 1 || once && stat.AtLeast(failed, 20, 0.19) > 1e-6) {
				t.Errorf("sent once %v, %d of 20: %v", once, failed, now)
			}
			bears = now
		}
	}
}
