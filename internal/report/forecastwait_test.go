package report

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/advise/battery"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/study"
)

// A reporter is one way to report over LTE-M, as it was made up.
type reporter struct {
	name, connection, transport string
	rtt, connecting             float64 // s
	bytes                       float64 // on the wire
}

// reporters are the two cold ways and the two kept ones of which per-request MQTT is the slowest, but for its RTT.
var reporters = []reporter{
	{"mqtt kept", "keep-alive", "mqtt", 0.110, 0, 300},
	{"rest kept", "keep-alive", "http", 0.112, 0, 400},
	{"mqtt cold", "per-request", "mqtt", 0.080, 2.000, 900},
	{"rest cold", "per-request", "http", 0.112, 0.130, 950},
}

// ownSeconds is what each of them serializes, and deserializes, in s.
const ownSeconds = 0.5

// measuring are results of reporters, over a link, with some responses.
func measuring(all []reporter, link string, responses ...string) *Report {
	r := &Report{Factors: []string{"way"}}
	r.Facts.Stacks = map[string]StackFacts{}
	for i, x := range all {
		if x.transport == "coap" { // as where the study leaves it open
			r.Facts.Stacks[x.name], x.transport = StackFacts{Transports: []string{"coap", "coap+tcp"}}, ""
		}
		r.Treatments = append(r.Treatments, Treatment{Levels: []string{x.name}, Stack: x.name,
			setup: &study.Setup{Link: study.Link{Text: link}, Connection: x.connection, Transport: x.transport}})
		truth := map[string]float64{"wire_bytes": x.bytes, "message_size": 100, "response_size": 20, "packets": 6,
			"rtt": x.rtt, "connection": x.connecting, "serialization": ownSeconds, "deserialization": ownSeconds,
			"total_time": x.rtt + x.connecting + 2*ownSeconds}
		for _, name := range append([]string{"wire_bytes", "message_size", "response_size", "packets"}, responses...) {
			m, _ := measure.FindResponse(name)
			c := Cell{Treatment: i, Side: measure.Client, Response: name, Unit: m.Unit, Method: store.Measured}
			for trial := 1; trial <= 3; trial++ {
				c.Points = append(c.Points, Point{Trial: trial, Block: trial, Mean: truth[name]})
			}
			r.Cells = append(r.Cells, c)
		}
	}
	return r
}

// Connecting counts in the wait: from connection, or else from the total time, less the device's own work; the ranking
// is then that of the times.
func TestForecastCountsConnecting(t *testing.T) {
	for _, tt := range []struct {
		responses []string
		took      float64 // of a report of cold MQTT
		notes     []string
	}{
		{[]string{"rtt", "connection", "total_time"}, 2.08,
			[]string{"rest cold; mqtt cold: waiting: connecting and the exchange as measured"}},
		{[]string{"rtt", "total_time", "serialization", "deserialization"}, 2.08,
			[]string{"waiting: total_time as measured over this link, which includes connecting, less the time of sending and " +
				"receiving, serializing and deserializing"}},
		{[]string{"total_time", "serialization"}, 2.58, []string{"the device's own deserialization, not measured, is still",
			"mqtt kept; rest kept: waiting: radio.wait, since rtt was not measured"}},
		{[]string{"rtt", "total_time"}, 3.08,
			[]string{"the device's own serialization and deserialization, not measured, is still in it"}},
	} {
		r := measuring(reporters, "lte-m", tt.responses...)
		for i, x := range reporters {
			if x.name != "mqtt cold" {
				continue
			}
			trials, _, lacks, err := r.traffic(i, "lte-m", "", false)
			if err != nil || lacks || math.Abs(trials[0].Took-tt.took) > 1e-9 {
				t.Errorf("%v: got %+v, connecting left out: %v, %v; took %v s", tt.responses, trials, lacks, err, tt.took)
			}
		}
		f := r.Forecast(lasting(t, "lte-m", "2xAA"), "")
		if got := order(f); !strings.HasSuffix(got, "rest cold, mqtt cold") {
			t.Errorf("%v: ranked %s, and MQTT takes 2 s to connect", tt.responses, got)
		}
		said := strings.Join(f.notes(), "\n")
		for _, want := range append(tt.notes, "mqtt kept; rest kept: the connection was kept open, so no handshake is "+
			"included, nor what keeps it open") {
			if !strings.Contains(said, want) {
				t.Errorf("%v: %q is not said: %s", tt.responses, want, said)
			}
		}
	}
}

// In a closed loop the next request carries the acknowledgement of an answer; with time between them it is sent, and
// counted.
func TestForecastNamesTheAcknowledgementLeftOut(t *testing.T) {
	for rate, want := range map[float64]bool{0: true, 0.5: false} {
		r := measuring(reporters, "lte-m", "rtt", "connection")
		for _, x := range r.Treatments {
			x.setup.Rate = rate
		}
		said := strings.Join(r.Forecast(lasting(t, "lte-m", "2xAA"), "").notes(), "\n")
		if strings.Contains(said, "nor the acknowledgement of an answer") != want || !strings.Contains(said, "kept open") {
			t.Errorf("rate %v: %s", rate, said)
		}
	}
}

// order are the treatments of forecasts, as they are ranked.
func order(f Forecasts) string {
	var names []string
	for _, x := range f.Rows {
		names = append(names, x.Name)
	}
	return strings.Join(names, ", ")
}

// Where nothing says how long connecting takes, that is said, of whom, and they rank behind the others.
func TestForecastLeavesConnectingOut(t *testing.T) {
	quick := reporter{"quick cold", "per-request", "http", 0.001, 3, 10}
	datagram := reporter{"coap", "per-request", "coap", 0.1, 0, 200}
	all := append([]reporter{quick, datagram}, reporters...)
	k := lasting(t, "lte-m", "2xAA")
	f := measuring(all, "lte-m", "rtt").Forecast(k, "")
	if got := order(f); got != "coap, mqtt kept, rest kept, quick cold, mqtt cold, rest cold" {
		t.Errorf("ranked %s", got)
	}
	for _, row := range f.Rows {
		if want := strings.HasSuffix(row.Name, "cold"); row.Unconnected != want {
			t.Errorf("%s: leaves connecting out: %v", row.Name, row.Unconnected)
		}
	}
	var text, data bytes.Buffer
	if err := f.Text(&text); err != nil {
		t.Fatal(err)
	}
	flat := strings.Join(strings.Fields(text.String()), " ")
	for _, want := range []string{"quick cold; mqtt cold; rest cold: connecting is left out of the wait",
		"add connection and rtt to the study's responses", "quick cold at most ",
		"quick cold " + f.Rows[3].life() + " ≤ " + LifeText(f.Rows[3].Lo) + " to " + LifeText(f.Rows[3].Hi),
		"coap " + LifeText(f.Rows[0].Life) + " " + LifeText(f.Rows[0].Lo) + " to "} {
		if !strings.Contains(flat, want) {
			t.Errorf("%q is not in %s", want, text.String())
		}
	}
	if err := f.JSON(&data); err != nil || strings.Count(data.String(), `"leaves_out"`) != 3 {
		t.Errorf("%v: %s", err, data.String())
	}

	if says := f.Picture().Says; !strings.Contains(says, "quick cold "+f.Rows[3].life()+" (bound: ") {
		t.Errorf("drawn as %s", says)
	}
	caveats := strings.Join(f.Caveats(), "\n")
	for _, want := range []string{"the battery's life: quick cold; mqtt cold; rest cold: connecting is left out",
		"the battery's life: mqtt kept; rest kept: the connection was kept open"} {
		if !strings.Contains(caveats, want) {
			t.Errorf("who looks at verdicts is not told %q, but %s", want, caveats)
		}
	}
	checks := LevelChoice{Choice: advise.Choice{}}
	for _, name := range []string{"coap", "quick cold"} {
		checks.Candidates = append(checks.Candidates, advise.Candidate{Name: name, Checks: []advise.Check{
			f.Need(battery.Need{Text: "battery > 1y", More: true, Bound: 1}).Judge([]string{name})}})
	}
	var verdicts strings.Builder
	checks.checks(&verdicts)
	flat = strings.Join(strings.Fields(verdicts.String()), " ")
	if strings.Count(flat, "at most") != 1 || !strings.Contains(flat, "(modelled) bound: ") ||
		!strings.Contains(flat, "quick cold at most ") {
		t.Errorf("a need is said to be judged by %s", verdicts.String())
	}

	// A need is not met by a life that may be shorter, nor missed by it where it must be short.
	bound := f.Rows[3].Lo / 2
	if f.Rows[3].Name != "quick cold" {
		t.Fatal(order(f))
	}
	for need, want := range map[bool]stat.Verdict{true: stat.Undecided, false: stat.Undecided} {
		n := battery.Need{Text: "battery", More: need, Bound: bound}
		if got := f.Need(n).Judge([]string{"quick cold"}); got.Verdict != want || got.Doubt == "" {
			t.Errorf("longer than: %v: got %+v", need, got)
		}
	}
	if got := f.Need(battery.Need{More: true, Bound: 2 * f.Rows[3].Hi}).Judge([]string{"quick cold"}); got.Verdict !=
		stat.Contradicted {
		t.Errorf("a life of at most %v is not above twice that: got %+v", f.Rows[3].Hi, got)
	}

	// Over another link nothing was measured; a wait that is stated is taken to include it.
	other := measuring(all, "none", "rtt", "connection")
	if f = other.Forecast(k, ""); !f.Rows[5].Unconnected || f.Rows[0].Unconnected ||
		!strings.Contains(strings.Join(f.notes(), "\n"), "since nothing was measured over lte-m") {
		t.Errorf("over another link: got %s, %q", order(f), f.notes())
	}
	x, err := battery.ParseSet("radio.wait=3s")
	if err != nil {
		t.Fatal(err)
	}
	k.Set = []battery.Figure{x}
	for _, row := range other.Forecast(k, "").Rows {
		if row.Unconnected {
			t.Errorf("%s leaves connecting out of a wait that is stated", row.Name)
		}
	}
}

// What is said of kept connections is said where there are such, and of those.
func TestForecastNamesKeptConnections(t *testing.T) {
	k := lasting(t, "lte-m", "2xAA")
	for _, tt := range []struct {
		of   []reporter
		want string // empty: nothing is said
	}{
		{reporters, "mqtt kept; rest kept: the connection was kept open"},
		{reporters[2:], ""},
		{reporters[:2], "the connection was kept open"},
		{[]reporter{{"coap", "keep-alive", "coap", 0.1, 0, 200}, reporters[2]}, ""},
	} {
		f := measuring(tt.of, "lte-m", "rtt", "connection").Forecast(k, "")
		for _, f.Each = range []bool{false, true} {
			got := ""
			for _, n := range f.notes() {
				if strings.Contains(n, "kept open") {
					got = n
				}
			}
			if (got == "") != (tt.want == "") || !strings.HasPrefix(got, tt.want) {
				t.Errorf("%s: got %q, want %q", fmt.Sprint(tt.of), got, tt.want)
			}
		}
	}
}

// Parts that neither a radio's own file nor the user states are named, in text and JSON, and the life is at most the
// forecast; who measured the wait, or states it, has none left out.
func TestForecastNamesPartsThatNobodyStates(t *testing.T) {
	without := func(keys ...string) battery.Conditions {
		k := lasting(t, "lte-m", "2xAA")
		k.Radio.Figures = slices.DeleteFunc(slices.Clone(k.Radio.Figures), func(f battery.Figure) bool {
			return slices.Contains(keys, f.Key)
		})
		return k
	}
	stated := without("radio.wait")
	set, err := battery.ParseSet("radio.wait=1s")
	if err != nil {
		t.Fatal(err)
	}
	stated.Set = append(stated.Set, set)
	for name, tt := range map[string]struct {
		k        battery.Conditions
		link     string
		leftsOut string
	}{
		"a whole file":          {without(), "none", ""},
		"no wait":               {without("radio.wait"), "none", "waiting for the response"},
		"no wait, but measured": {without("radio.wait"), "lte-m", ""},
		"no wait, but stated":   {stated, "none", ""},
		"no setup":              {without("radio.setup_time"), "lte-m", "waking and attaching"},
		"neither": {without("radio.setup_time", "radio.wait"), "none",
			"waking and attaching; waiting for the response"},
		"no inactivity": {without("radio.inactivity"), "lte-m", "being connected until the release"},
		"no release": {without("radio.inactivity", "radio.drx_cycle", "radio.drx_on"), "lte-m",
			"being connected until the release"},
		"no power":     {without("radio.setup_power"), "lte-m", "the power of waking and attaching"},
		"no drx_on":    {without("radio.drx_on"), "lte-m", "receiving in cycles"},
		"no cycles":    {without("radio.drx_cycle", "radio.drx_on"), "lte-m", ""},
		"no paging_on": {without("radio.paging_on"), "lte-m", "listening for pages"},
		"no paging":    {without("radio.active", "radio.paging_cycle", "radio.paging_on"), "lte-m", ""},
	} {
		f := measuring([]reporter{{"coap", "keep-alive", "coap", 0.1, 0, 200}}, tt.link, "rtt").Forecast(tt.k, "")
		var js strings.Builder
		if err := f.JSON(&js); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(f.Rows[0].lacks(), "; "); got != tt.leftsOut {
			t.Errorf("%s: got %q, want %q", name, got, tt.leftsOut)
		}
		said := strings.Join(f.notes(), "\n")
		if want := tt.leftsOut != ""; strings.Contains(said, silentPart) != want || strings.Contains(js.String(),
			"leaves_out") != want || strings.Contains(js.String(), silentPart) != want ||
			strings.HasPrefix(f.Rows[0].life(), "at most ") != want {
			t.Errorf("%s: %s, %s\n%s", name, f.Rows[0].life(), said, js.String())
		}
	}
}

// Lives that the shelf life ends alike are ranked by the power.
func TestEqualLivesAreRankedByPower(t *testing.T) {
	row := func(name string, life, watts float64) ForecastRow {
		return ForecastRow{Name: name, Forecast: battery.Forecast{Life: life, Watts: watts}}
	}
	f := Forecasts{Rows: []ForecastRow{row("hungry", 9, 3), row("short", 8, 1), row("frugal", 9, 2)}}
	if f.Sort(); order(f) != "frugal, hungry, short" {
		t.Errorf("ranked %s", order(f))
	}
}
