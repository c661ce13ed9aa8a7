package web

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/instrument/energy"
	"edgegauge.example/edgegauge/internal/lab/fabricated"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/store"
)

// metered makes results of one trial whose client's power was read each millisecond: 1 W, and
// 5 W while the request in the middle was under way. The lab noted the run from 2 s on, for so
// much longer than the client's own.
func metered(t *testing.T, dir, facts string, longer time.Duration) (middle measure.Exchange) {
	t.Helper()
	kept, plan, err := fabricated.CreateOn(dir, []byte("study: metered\nservice: echo\nstack: coap-json\nrequests: 9\n"+
		"design: {replications: 1, seed: 1}\nresponses: [rtt]\n"), []byte(facts))
	ok(t, err)
	defer kept.Close()
	const ms = time.Millisecond
	a, err := kept.Begin(plan.Trials[0].ID)
	ok(t, err)
	var xs []measure.Exchange
	for i := range 9 {
		at := time.Duration(i) * 100 * ms
		xs = append(xs, measure.Exchange{Seq: uint64(i + 1), Due: at, Serialization: ms, Sent: at + ms, Done: at + 41*ms,
			Deserialization: ms, Total: 42 * ms, Out: 8, In: 8})
	}
	w, err := a.Exchanges(measure.Client)
	ok(t, err)
	ok(t, w.Append(xs))
	ok(t, w.Close())
	middle = xs[4]
	began := 2*time.Second + longer/2 // the client's run, where the page takes it to be
	p, err := a.Samples(store.Source{Side: measure.Client, Instrument: "a meter", Method: store.Measured})
	ok(t, err)
	for i := range 4000 {
		x := measure.Sample{At: time.Duration(i) * ms, Quantity: energy.Power, Value: 1}
		if x.At > began+middle.Due && x.At <= began+middle.Due+middle.Total {
			x.Value = 5
		}
		ok(t, p.Append([]measure.Sample{x}))
	}
	ok(t, p.Close())
	last := xs[8].Done
	ok(t, a.Commit([]store.Result{{Side: measure.Client, Response: "rtt", Unit: "s", N: 9, Mean: 0.04,
		Median: 0.04, P95: 0.04,
		Min: 0.04, Max: 0.04, Method: store.Measured}}, []store.Quality{{Key: "run_from", Unit: "s", Value: 2},
		{Key: "run_to", Unit: "s", Value: 2 + (last + longer).Seconds()},
		{Key: "client_meter_clock_bias", Unit: "s", Value: 0.002}}))
	return middle
}

const here = `{"edgegauge": {"version": "test"}, "devices": {"local": {"kernel": "6.1"}}}`

// The power of a request is beneath its phases, on their axis, and says how sure its place is;
// so is that of all requests over the trial.
func TestPowerIsBeneathRequests(t *testing.T) {
	dir := t.TempDir()
	middle := metered(t, filepath.Join(dir, "m"), here, 8*time.Millisecond)
	s := served(t, Options{Folders: []string{dir}})
	trial := "/r/" + id(t, s, "m") + "/t/1/"
	page := shows(t, s, fmt.Sprintf("%sx/%d/", trial, middle.Seq), "power, client", "mean 5.00 W",
		"may lie up to 6.00 ms to the left",
		"beneath, on the same axis, the power of the client by a meter, mean 5.00 W, to within 6.00 ms")
	shows(t, s, trial+"x/4/", "mean 1.00 W")
	// The phases begin at 0 of the axis and the power rises there: both are places on one axis.
	bar := regexp.MustCompile(`<rect class="fig-phase" x="([\d.]+)%"`).FindStringSubmatch(page)
	if bar == nil || bar[1] != "0" && bar[1] != "0.00" {
		t.Errorf("the first phase begins at %v", bar)
	}
	levels := regexp.MustCompile(`fig-line"[^>]* d="([^"]+)"`).FindStringSubmatch(page)
	if levels == nil {
		t.Fatal("no power is drawn")
	}
	body := shows(t, s, trial, "RTT at the client over time, and the power beneath", "may lie up to 6.00 ms",
		"RTT at the client of the 9 requests over the time of the trial")
	// The request in the middle is where the power is high: dots and steps are by the same 1000 units.
	dots := regexp.MustCompile(`M([\d.]+) [\d.]+h0`).FindAllStringSubmatch(section(t, body, "rtt-power"), -1)
	if len(dots) != 9 {
		t.Fatalf("%d requests are drawn over time", len(dots))
	}
	at, _ := strconv.ParseFloat(dots[4][1], 64)
	from, to := high(t, section(t, body, "rtt-power"))
	if at < from-2 || at > to || to-from < 40 || to-from > 60 { // 42 of 800 ms, and 1 ms before it was sent
		t.Errorf("the request is at %v, the power is high from %v to %v", at, from, to)
	}
}

func section(t *testing.T, page, figure string) string {
	t.Helper()
	i := strings.Index(page, figure)
	if i < 0 {
		t.Fatalf("no figure %s", figure)
	}
	page = page[i:]
	return page[:strings.Index(page, "</section>")]
}

var steps = regexp.MustCompile(`V([\d.]+)H([\d.-]+)`)

// high is from where to where a trace's line is near its top.
func high(t *testing.T, figure string) (from, to float64) {
	t.Helper()
	line := regexp.MustCompile(`fig-line"[^>]* d="([^"]+)"`).FindStringSubmatch(figure)
	if line == nil {
		t.Fatal("no power is drawn")
	}
	last := 0.0
	for _, m := range steps.FindAllStringSubmatch(line[1], -1) {
		y, _ := strconv.ParseFloat(m[1], 64)
		x, _ := strconv.ParseFloat(m[2], 64)
		if y < 50 {
			if from == 0 {
				from = last
			}
			to = x
		}
		last = x
	}
	return from, to
}

// Where the two have not one clock, or the beginning is not known well enough, the page says so.
func TestPowerHasAnAxisOfItsOwn(t *testing.T) {
	dir := t.TempDir()
	metered(t, filepath.Join(dir, "board"), `{"edgegauge": {"version": "test"}, "devices": {"local": {"kernel": "6.1", `+
		`"agent": {"file": "edgegauge-board", "size_B": 1, "sha256": "0", "why": "x"}}}}`, 8*time.Millisecond)
	metered(t, filepath.Join(dir, "emulated"), `{"edgegauge": {"version": "test"}, "devices": {"local": {"kernel": "6.1", `+
		`"emulation": {"qemu": "9"}}}}`, 8*time.Millisecond)
	metered(t, filepath.Join(dir, "late"), here, 300*time.Millisecond)
	metered(t, filepath.Join(dir, "early"), here, -10*time.Millisecond)
	s := served(t, Options{Folders: []string{dir}})
	for name, why := range map[string]string{"board": "ran on another machine", "emulated": "ran on another machine",
		"late": "known only to within 152 ms", "early": "no common axis"} {
		trial := "/r/" + id(t, s, name) + "/t/1/"
		for _, to := range []string{trial, trial + "x/5/"} {
			page := shows(t, s, to, why, "Power of the client over trial 1")
			if strings.Contains(page, "power beneath") || strings.Contains(page, "power, client") {
				t.Errorf("%s: two clocks are on one axis", to)
			}
		}
	}
}
