package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/advise/battery"
	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/store"
)

// Lives whose intervals overlap are set against the first, with what radio and battery leave open of the ratio; not
// where one has measured what the other has not: it would last longer for that alone.
func TestLivesAreSetAgainstTheFirst(t *testing.T) {
	figures := map[string]float64{"wire_bytes": 500, "message_size": 100, "response_size": 200, "energy": 0.01, "rtt": 2,
		"connection": 1}
	k := lasting(t, "nb-iot", "2xAA")
	all := []string{"nb-iot", "nb-iot"}
	f := measuredOver(all, figures, store.Measured).Forecast(k, "")
	x, ok := f.toFirst(1)
	if !ok || !(x.Lo <= x.Estimate && x.Estimate <= x.Hi && x.Hi < 1) ||
		math.Abs(x.Estimate-f.Rows[1].Life/f.Rows[0].Life) > 1e-9 || !(f.Rows[1].Hi > f.Rows[0].Lo) {
		t.Errorf("twice the bytes: got %+v of %+v and %+v", x, f.Rows[0].Forecast, f.Rows[1].Forecast)
	}
	said := func() (text string, ratios []bool) {
		var b, data bytes.Buffer
		var got struct {
			Forecasts []struct {
				ToFirst *struct {
					Ratio    float64
					Interval [2]float64
				} `json:"to_the_first"`
			}
		}
		if err := errors.Join(f.Text(&b), f.JSON(&data), json.Unmarshal(data.Bytes(), &got)); err != nil {
			t.Fatal(err)
		}
		for _, x := range got.Forecasts {
			ratios = append(ratios, x.ToFirst != nil && x.ToFirst.Ratio < 1 && x.ToFirst.Interval[1] < 1)
		}
		return b.String(), ratios
	}
	if text, ratios := said(); !strings.Contains(text, "to the first") || !slices.Equal(ratios, []bool{false, true}) {
		t.Errorf("got %v of\n%s", ratios, text)
	}
	for _, lacks := range []string{"wire_bytes", "energy"} {
		r := measuredOver(all, figures, store.Measured)
		r.Cells = slices.DeleteFunc(r.Cells, func(c Cell) bool { return c.Treatment == 1 && c.Response == lacks })
		f = r.Forecast(k, "")
		text, ratios := said()
		if slices.Contains(ratios, true) || strings.Contains(text, "to the first") ||
			!strings.Contains(strings.Join(strings.Fields(text), " "), f.Rows[1].Name+": not set against "+f.Rows[0].Name) {
			t.Errorf("without %s: got %v of\n%s", lacks, ratios, text)
		}
	}
}

// What connecting takes may turn the order of two lives of which it is left out: of those that are at most so long no
// ratio is said. Here the one with fewer bytes, which would last longer, takes 2 s to connect.
func TestLivesThatAreAtMostSoLongAreNotSetAgainstEachOther(t *testing.T) {
	k := lasting(t, "lte-m", "2xAA")
	cold := reporters[2:]
	truth := measuring(cold, "lte-m", "rtt", "connection").Forecast(k, "")
	if x, ok := truth.toFirst(1); order(truth) != "rest cold, mqtt cold" || !ok || !(x.Estimate < 1) ||
		len(truth.bounds()) > 0 {
		t.Errorf("with what connecting takes: %s, %+v, %v, %q", order(truth), x, ok, truth.bounds())
	}
	f := measuring(cold, "lte-m", "rtt").Forecast(k, "")
	if _, ok := f.toFirst(1); order(f) != "mqtt cold, rest cold" || ok {
		t.Errorf("without: %s, a ratio: %v", order(f), ok)
	}
	var text, data bytes.Buffer
	if err := errors.Join(f.Text(&text), f.JSON(&data)); err != nil {
		t.Fatal(err)
	}
	const says = "rest cold: not set against mqtt cold, since what connecting takes is left out of both"
	if said := strings.Join(strings.Fields(text.String()), " "); strings.Contains(said, "to the first") ||
		strings.Count(said, says) != 1 {
		t.Errorf("got %s", text.String())
	}
	if strings.Count(data.String(), `"to_the_first": null`) != 2 || !strings.Contains(data.String(), says) {
		t.Errorf("got %s", data.String())
	}
}

// Who looks at a verdict on a life alone is told what would make it shorter.
func TestCaveatsOfALife(t *testing.T) {
	k := lasting(t, "nb-iot", "2xAA")
	figures := map[string]float64{"wire_bytes": 500, "message_size": 100, "response_size": 200}
	says := func() string {
		return strings.Join(measuredOver([]string{"nb-iot"}, figures, store.Measured).Forecast(k, "").Caveats(), "\n")
	}
	if got := says(); !strings.Contains(got, "draw nothing") || strings.Contains(got, "bodies") ||
		!strings.HasPrefix(got, "radios/nb-iot.yaml: ") {
		t.Errorf("got %q", got)
	}
	delete(figures, "wire_bytes")
	x, err := battery.ParseSet("device.sleep=5uW")
	if err != nil {
		t.Fatal(err)
	}
	k.Set, k.Radio.Note = append(k.Set, x), ""
	if got := says(); strings.Contains(got, "draw nothing") || !strings.HasPrefix(got, "the battery's life is with the "+
		"bytes of bodies alone") {
		t.Errorf("got %q", got)
	}
	const other = "the battery's life: measured over a link other than nb-iot: retransmissions"
	over := measuredOver([]string{"none"}, figures, store.Measured)
	if got := strings.Join(over.Forecast(k, "").Caveats(), "\n"); !strings.Contains(got, other) ||
		strings.Contains(says(), other) {
		t.Errorf("got %q over another link, and %q over this one", got, says())
	}
	delete(figures, "response_size")
	if got := says(); !strings.Contains(got, "the battery's life: bytes: response_size was not measured") {
		t.Errorf("got %q", got)
	}
	if got := (Forecasts{}).Caveats(); len(got) > 0 {
		t.Errorf("of nothing: %q", got)
	}
}

// Of one trial each nobody knows how far others would differ: two lives of equal reports, of which one trial was
// measured with a few bytes more, have no order, and no need is met by one trial; with a second one there is an
// interval for both.
func TestOneTrialForecastsNoOrder(t *testing.T) {
	k := lasting(t, "nb-iot", "2xAA")
	for _, trials := range []int{1, 2} {
		r := measuredOver([]string{"nb-iot", "nb-iot"}, map[string]float64{"wire_bytes": 500, "message_size": 100,
			"response_size": 200, "rtt": 2, "connection": 1}, store.Measured)
		for i := range r.Cells {
			c := &r.Cells[i]
			for j := range c.Points { // truth: both 500 B; 5 % more in one trial of each
				base := c.Points[j].Mean / float64(1+c.Treatment)
				if c.Points[j].Mean = base; j == c.Treatment {
					c.Points[j].Mean = 1.05 * base
				}
			}
			c.Points = c.Points[:trials]
		}
		f := r.Forecast(k, "")
		x, ok := f.toFirst(1)
		if ok != (trials > 1) || ok && (x.Hi < 1 || x.Lo > 1) {
			t.Errorf("%d trials: got the ratio %+v, %v", trials, x, ok)
		}
		met := f.Need(battery.Need{Text: "battery > 1h", More: true, Bound: 3600}).Judge(f.Rows[0].Levels)
		if (met.Verdict == stat.Confirmed) != (trials > 1) || (met.Doubt == "") != (trials > 1) {
			t.Errorf("%d trials: a need for an hour is %s: %q", trials, met.Verdict, met.Doubt)
		}
		var text bytes.Buffer
		if err := f.Text(&text); err != nil {
			t.Fatal(err)
		}
		if said := strings.Join(strings.Fields(text.String()), " "); strings.Contains(said,
			"one trial does not show how far trials differ") != (trials == 1) {
			t.Errorf("%d trials: got %s", trials, said)
		}
	}
}
