package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/batteries"
	"edgegauge.example/edgegauge/internal/advise/battery"
	"edgegauge.example/edgegauge/internal/advise/cost"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/study"
	"edgegauge.example/edgegauge/radios"
)

// measuredOver is a report of treatments, each over a link, of two trials with the given figures.
func measuredOver(links []string, figures map[string]float64, method store.Method) *Report {
	r := &Report{Factors: []string{"stack"}}
	for i, l := range links {
		r.Treatments = append(r.Treatments, Treatment{Levels: []string{fmt.Sprintf("%s-%d", l, i)}, Stack: "rest-json",
			setup: &study.Setup{Link: study.Link{Text: l}, Connection: "per-request"}})
		for name, x := range figures {
			m, _ := measure.FindResponse(name)
			x *= float64(1 + i)
			r.Cells = append(r.Cells, Cell{Treatment: i, Side: measure.Client, Response: name, Unit: m.Unit, Method: method,
				Points: []Point{{Trial: 1, Block: 1, Mean: x}, {Trial: 2, Block: 2, Mean: x}}})
		}
	}
	return r
}

func lasting(t testing.TB, radio, cell string) battery.Conditions {
	t.Helper()
	rs, err := battery.Load(battery.Radio, radios.Files)
	cells, err2 := battery.Load(battery.Battery, batteries.Files)
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	return battery.Conditions{Radio: rs[radio], Battery: cells[cell], Period: time.Hour, Confidence: 0.95}
}

func TestTraffic(t *testing.T) {
	figures := map[string]float64{"wire_bytes": 500, "message_size": 100, "response_size": 200, "packets": 6,
		"rtt": 2, "connection": 1,
		"retransmissions": 0.5, "energy": 0.1, "energy_gross": 0.3}
	for _, tt := range []struct {
		what   string
		link   string
		joules Joules
		method store.Method
		drop   []string
		want   battery.Traffic // NaN: not measured
		notes  []string
	}{
		{"headers go both ways alike; the wait is that of the link; measured joules are the processor's", "nb-iot", "",
			store.Measured, nil, battery.Traffic{Up: 200, Down: 300, Packets: 6, Took: 3, Joules: 0.1},
			[]string{"on the wire, as measured, including 0.500 retransmitted", "connecting and the exchange as measured",
				"measured energy at the client, of the processor"}},
		{"another link's wait is not this one's", "lte-m", "", store.Measured, nil,
			battery.Traffic{Up: 200, Down: 300, Packets: 6, Took: math.NaN(), Joules: 0.1}, []string{"on the wire"}},
		{"modelled joules may contain a radio", "nb-iot", "", store.Modelled, nil,
			battery.Traffic{Up: 200, Down: 300, Packets: 6, Took: 3, Joules: math.NaN()},
			[]string{"modelled ones are not used"}},
		{"modelled joules of the processor", "nb-iot", OfProcessor, store.Modelled, nil,
			battery.Traffic{Up: 200, Down: 300, Packets: 6, Took: 3, Joules: 0.1}, []string{"modelled energy at the client"}},
		{"joules of the whole exchange", "nb-iot", OfExchange, store.Modelled, nil,
			battery.Traffic{Up: 200, Down: 300, Packets: 6, Took: 3, Joules: 0.3, Whole: true},
			[]string{"modelled energy_gross at the client, instead of sending"}},
		{"no joules wanted", "nb-iot", NoJoules, store.Measured, nil,
			battery.Traffic{Up: 200, Down: 300, Packets: 6, Took: 3, Joules: math.NaN()}, []string{"not used"}},
		{"no joules there", "nb-iot", OfExchange, store.Measured, []string{"energy", "energy_gross"},
			battery.Traffic{Up: 200, Down: 300, Packets: 6, Took: 3, Joules: math.NaN()},
			[]string{"no energy_gross of the client"}},
		{"bodies alone, and it is said", "none", "", store.Measured,
			[]string{"wire_bytes", "packets", "energy", "retransmissions"},
			battery.Traffic{Up: 100, Down: 200, Took: math.NaN(), Joules: math.NaN()},
			[]string{"bodies only; headers, acknowledgements and retransmissions were not measured"}},
		{"the wire alone: who sent the bytes is not known", "none", "", store.Measured,
			[]string{"message_size", "response_size", "energy"},
			battery.Traffic{Up: 250, Down: 250, Packets: 6, Took: math.NaN(), Joules: math.NaN()},
			[]string{"half of the bytes are taken to be sent"}},
		{"the wire and the answer: the same", "none", "", store.Measured, []string{"message_size", "energy"},
			battery.Traffic{Up: 250, Down: 250, Packets: 6, Took: math.NaN(), Joules: math.NaN()},
			[]string{"half of the bytes are taken to be sent"}},
		{"the wire and a request without an answer", "none", "", store.Measured, []string{"response_size", "energy"},
			battery.Traffic{Up: 300, Down: 200, Packets: 6, Took: math.NaN(), Joules: math.NaN()}, nil},
	} {
		kept := map[string]float64{}
		for name, x := range figures {
			if !slices.Contains(tt.drop, name) {
				kept[name] = x
			}
		}
		r := measuredOver([]string{tt.link}, kept, tt.method)
		trials, notes, _, err := r.traffic(0, "nb-iot", tt.joules, false)
		if err != nil || len(trials) != 2 {
			t.Errorf("%s: got %v, %v", tt.what, trials, err)
			continue
		}
		// NaN differs from itself
		if got, want := fmt.Sprintf("%+v", trials[1]), fmt.Sprintf("%+v", tt.want); got != want {
			t.Errorf("%s: got %s, want %s", tt.what, got, want)
		}
		for _, n := range tt.notes {
			if !strings.Contains(strings.Join(notes, "\n"), n) {
				t.Errorf("%s: %q is not said: %q", tt.what, n, notes)
			}
		}
	}
	if _, _, _, err := measuredOver([]string{"none"}, map[string]float64{"rtt": 1}, store.Measured).traffic(0,
		"nb-iot", "", false); err == nil {
		t.Error("no bytes, and a forecast")
	}
	// The connection is that of the few requests that connected.
	kept := measuredOver([]string{"nb-iot"}, figures, store.Measured)
	kept.Treatments[0].setup.Connection = "keep-alive"
	if trials, _, _, err := kept.traffic(0, "nb-iot", "", false); err != nil || trials[0].Took != 2 {
		t.Errorf("a report over a kept connection: %+v, %v; took 2 s", trials, err)
	}
}

func TestForecastOfReport(t *testing.T) {
	figures := map[string]float64{"wire_bytes": 500, "message_size": 100, "response_size": 200}
	r := measuredOver([]string{"nb-iot", "lte-m", "nb-iot"}, figures, store.Measured)
	f := r.Forecast(lasting(t, "nb-iot", "2xAA"), "")
	if len(f.Rows) != 2 || f.Rows[0].Name != "nb-iot-0" || f.Rows[1].Name != "nb-iot-2" ||
		f.Rows[0].Life <= f.Rows[1].Life {
		t.Fatalf("the longest life over this link is first: got %+v", f.Rows)
	}
	f.Conditions.Confidence = 0.95
	var text, data, picture bytes.Buffer
	if err := errors.Join(f.Text(&text), f.JSON(&data), f.Picture().File(&picture)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"MODELLED, not measured: how long 2xAA lasts with nb-iot and a report every 1h.",
		"nb-iot-0: where the energy goes", "setup", "█", "what to change first", "the period", "least certain",
		"radio.setup_time", "device.sleep=…", "radios/nb-iot.yaml", "--each"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is not in %s", want, text.String())
		}
	}
	if strings.Contains(text.String(), "nb-iot-2: where the energy") {
		t.Errorf("the second is explained without --each: %s", text.String())
	}
	for line := range strings.Lines(text.String()) {
		if n := len([]rune(line)); n > Columns+1 {
			t.Errorf("%d characters: %s", n, line)
		}
	}
	var got struct {
		Format    int
		Forecasts []struct {
			Modelled bool
			Life     float64    `json:"life_s"`
			Interval [2]float64 `json:"interval_s"`
			Parts    []struct{ Share float64 }
			Figures  []struct {
				Figure, Source string
				Life           float64 `json:"life_when_changed_s"`
			}
		}
	}
	if err := json.Unmarshal(data.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	x := got.Forecasts[0]
	var sum float64
	for _, p := range x.Parts {
		sum += p.Share
	}
	if got.Format != 1 || !x.Modelled || x.Life != f.Rows[0].Life ||
		x.Interval != [2]float64{f.Rows[0].Lo, f.Rows[0].Hi} ||
		math.Abs(sum-1) > 1e-9 || len(x.Figures) < 20 {
		t.Errorf("got %+v", got)
	}
	// The picture is XML; its bars are as wide as the shares.
	d, wide := xml.NewDecoder(&picture), 0.0
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == "rect" && len(e.Attr) > 0 &&
			e.Attr[0].Value == "fig-hist" {
			for _, a := range e.Attr {
				var w float64
				if _, err := fmt.Sscanf(a.Value, "%g%%", &w); a.Name.Local == "width" && err == nil {
					wide += w
				}
			}
		}
	}
	if math.Abs(wide-200) > 0.2 {
		t.Errorf("two bars are %g %% wide", wide)
	}

	// Over another link it is forecast, and said; what cannot be is last, and why.
	f = measuredOver([]string{"lte-m"}, figures, store.Measured).Forecast(lasting(t, "nb-iot", "2xAA"), "")
	if len(f.Rows) != 1 || !strings.Contains(strings.Join(f.notes(), "\n"), "measured over a link other than nb-iot") {
		t.Errorf("got %+v", f.notes())
	}
	f = r.Forecast(lasting(t, "nb-iot", "CR2032"), "")
	if f.Rows[0].Err == nil || !strings.Contains(strings.Join(f.notes(), "\n"), "the pulse is too high") {
		t.Errorf("got %+v", f.Rows)
	}
}

func TestLifeText(t *testing.T) {
	for _, tt := range []struct {
		s    float64
		want string
	}{{5 * battery.Year.Seconds(), "5.00 years"}, {100 * 86400, "100 days"}, {7200, "2.00 h"}, {1800, "30.0 min"},
		{60, "1.00 min"}, {0, "0 s"}} {
		if got := LifeText(tt.s); got != tt.want {
			t.Errorf("%g s: got %s, want %s", tt.s, got, tt.want)
		}
		if got := figureText(tt.s, "s"); tt.s > 0 && got != tt.want {
			t.Errorf("a figure of %g s: got %s, want %s", tt.s, got, tt.want)
		}
	}
}

// A network bills IP packets. Over loopback a CoAP request of 219 B in two packets has 28 B of Ethernet headers, over a
// link of ours none: both say the same, and what is not in it.
func TestFleetCountsIPPackets(t *testing.T) {
	month := func(link string, figures map[string]float64, connection string) (Fleet, string) {
		r := measuredOver([]string{link}, figures, store.Measured)
		r.Treatments[0].setup.Connection = connection
		for i := range r.Cells {
			x := r.Cells[i].Points[0].Mean
			r.Cells[i].Mean = stat.Summary{Center: x, Lo: x - 1, Hi: x + 1}
		}
		r.Cells = append(r.Cells, Cell{Side: measure.Server, Response: "cpu", Unit: "s",
			Mean: stat.Summary{Center: 0.05, Lo: 0.04, Hi: 0.061}})
		f := r.Fleet(100_000, time.Hour, nil)
		var text bytes.Buffer
		if err := (Forecasts{Fleet: &f}).Text(&text); err != nil {
			t.Fatal(err)
		}
		return f, strings.Join(strings.Fields(text.String()), " ")
	}
	for _, tt := range []struct {
		link, connection string
		figures          map[string]float64
		bytes            float64 // of a request, in IP packets
		says, saysNot    string
	}{
		{"none", "per-request", map[string]float64{"wire_bytes": 247, "packets": 2}, 219,
			"on the wire: IP packets: the Ethernet header of each, 14 B, is left out", "no handshake"},
		{"nb-iot", "per-request", map[string]float64{"wire_bytes": 219, "packets": 2}, 219, "on the wire: IP packets",
			"Ethernet"},
		{"none", "per-request", map[string]float64{"wire_bytes": 247}, 247, "14 B of each packet may be an Ethernet header",
			"is left out on"},
		{"none", "keep-alive", map[string]float64{"wire_bytes": 247, "packets": 2}, 219,
			"no handshake is included, nor what keeps it open from one report to the next, such as MQTT's pings, nor the " +
				"acknowledgement", "may be"},
	} {
		f, text := month(tt.link, tt.figures, tt.connection)
		got, want := f.Rows[0].Bytes, tt.bytes*730.5*100_000
		if math.Abs(got.Center/want-1) > 1e-9 || math.Abs((got.Hi-got.Lo)/(2*730.5*100_000)-1) > 1e-6 ||
			!strings.Contains(text, tt.says) || strings.Contains(text, tt.saysNot) {
			t.Errorf("%+v: got %+v, want %g, and %s", tt, got, want, text)
		}
	}
}

// A fleet takes what a request takes, times the requests; what was not measured is not told.
func TestFleet(t *testing.T) {
	r := measuredOver([]string{"none", "none"}, map[string]float64{"wire_bytes": 1000}, store.Measured)
	for i := range r.Cells {
		r.Cells[i].Mean = stat.Summary{Center: 1000, Lo: 900, Hi: 1100}
	}
	r.Cells = append(r.Cells, Cell{Treatment: 0, Side: measure.Server, Response: "cpu", Unit: "s", Method: store.Measured,
		Mean: stat.Summary{Center: 0.05, Lo: 0.04, Hi: 0.061}})
	r.Study.Design.Confidence = 0.9
	p := cost.Prices{Currency: "EUR", ServerMonth: 20, ServerCores: 4, Utilization: 0.5, Gigabyte: 0.1}
	fleet := r.Fleet(360_000, time.Hour, &p)
	if len(fleet.Rows) != 2 || fleet.Rows[0].Err != nil || fleet.Rows[0].Cores.Center != 5 || fleet.Rows[1].Err == nil {
		t.Fatalf("got %+v", fleet.Rows)
	}
	f := Forecasts{Fleet: &fleet}
	var text, data bytes.Buffer
	if err := errors.Join(f.Text(&text), f.JSON(&data)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Per month, 360000 devices that report every 1h need", "5.00 (4.00 to 6.10)",
		"263 GB (237 GB to 289 GB)", "3 (2 to 4)", "EUR", "86.3 (63.7 to 109)", "none-1: the server's cpu was not measured",
		"Memory, connections, storage and outages are not included",
		"intervals: 90 %, as the study asks (design.confidence)",
		"the cost leaves out what has no price or a price of 0: device_month"} {
		if !strings.Contains(strings.Join(strings.Fields(text.String()), " "), want) {
			t.Errorf("%q is not in %s", want, text.String())
		}
	}
	if strings.Contains(text.String(), "MODELLED") || !strings.Contains(data.String(), `"servers"`) {
		t.Errorf("no battery was asked for: %s%s", text.String(), data.String())
	}
	var month struct {
		Confidence float64
		Fleet      struct {
			Treatments []map[string]any
		}
	}
	if err := json.Unmarshal(data.Bytes(), &month); err != nil || len(month.Fleet.Treatments) != 2 {
		t.Fatalf("%v: %s", err, data.String())
	}
	if got := month.Fleet.Treatments[0]["confidence"]; month.Confidence != 0.9 || got != 0.9 {
		t.Errorf("the intervals have a confidence of %v, and %v of the treatment", month.Confidence, got)
	}
	for key, x := range month.Fleet.Treatments[1] {
		if x, ok := x.(map[string]any); ok && (x["value"] != nil || x["interval"] != nil) {
			t.Errorf("%s of a treatment without a forecast is %v", key, x)
		}
	}
	fleet.Rows[1].Err, fleet.Rows[1].Month, fleet.Rows[1].Confidence = nil, fleet.Rows[0].Month, 0.99
	text.Reset()
	said := "none-0: intervals: 90 %, as the study asks (design.confidence) none-1: intervals: 99 %"
	if err := f.Text(&text); err != nil || !strings.Contains(strings.Join(strings.Fields(text.String()), " "), said) {
		t.Errorf("%v: two studies with confidences of their own:\n%s", err, text.String())
	}
	fleet.Rows = fleet.Rows[:1]
	fleet.Rows[0].PerServer = cost.Amount{Center: 120, Lo: 40, Hi: math.Inf(1)}
	text.Reset()
	if err := f.Text(&text); err != nil || !strings.Contains(text.String(), "120 (40 or more)") {
		t.Errorf("%v: a server whose CPU time may be 0:\n%s", err, text.String())
	}
	fleet.Prices = nil
	text.Reset()
	if err := f.Text(&text); err != nil || strings.Contains(text.String(), "EUR") ||
		!strings.Contains(text.String(), "--prices FILE") {
		t.Errorf("without prices: %v %s", err, text.String())
	}
}
