package report

import (
	"encoding/json"
	"io"
	"math"

	"edgegauge.example/edgegauge/internal/advise/battery"
	"edgegauge.example/edgegauge/internal/stat"
)

// forecastFormat is the version of what JSON writes.
const forecastFormat = 1

type forecastPart struct {
	Part  string  `json:"part"`
	Watts float64 `json:"mean_W"`
	Share float64 `json:"share"`
}

type forecastLever struct {
	Figure  string        `json:"figure"`
	Unit    string        `json:"unit"`
	Value   stat.Number   `json:"value"`
	Limits  stat.Interval `json:"limits"`
	Lives   stat.Interval `json:"life_at_limits_s"`
	Factor  float64       `json:"changed_by,omitempty"`
	Changed stat.Number   `json:"life_when_changed_s"`
	Source  string        `json:"source,omitempty"`
}

type forecastOut struct {
	Treatment string          `json:"treatment"`
	Modelled  bool            `json:"modelled"` // always
	Life      stat.Number     `json:"life_s"`
	Interval  stat.Interval   `json:"interval_s"`
	Trials    int             `json:"trials"`
	Watts     stat.Number     `json:"mean_W"`
	Peak      stat.Number     `json:"peak_A"`
	Joules    stat.Number     `json:"battery_J"`
	Parts     []forecastPart  `json:"parts"`
	Levers    []forecastLever `json:"figures"`
	Rests     []string        `json:"rests_on"`
	// ToFirst is how many times as long the battery lasts as with the first treatment; null: they are not compared.
	ToFirst *toFirstJSON `json:"to_the_first"`
	// LeavesOut names what is not in it, where the life is at most the forecast.
	LeavesOut []string `json:"leaves_out,omitempty"`
	Why       string   `json:"why_not,omitempty"` // there is no forecast
}

type toFirstJSON struct {
	Ratio    stat.Number   `json:"ratio"`
	Interval stat.Interval `json:"interval"`
}

// JSON writes the forecasts.
func (f Forecasts) JSON(w io.Writer) error {
	out := struct {
		Format     int           `json:"format"`
		Battery    string        `json:"battery"`
		Radio      string        `json:"radio"`
		Period     float64       `json:"period_s"`
		Confidence float64       `json:"confidence"`
		Forecasts  []forecastOut `json:"forecasts"`
		Fleet      *fleetJSON    `json:"fleet,omitempty"`
		Notes      []string      `json:"notes"`
		Warnings   []string      `json:"warnings"`
	}{forecastFormat, f.Conditions.Battery.Name, f.Conditions.Radio.Name, f.Conditions.Period.Seconds(),
		f.Conditions.Confidence, []forecastOut{}, f.Fleet.json(), []string{}, orEmpty(f.Warnings)}
	if len(f.Rows) > 0 {
		out.Notes = f.notes()
	}
	if f.Conditions.Battery.Name == "" && f.Fleet != nil { // no battery was asked about
		out.Confidence = f.Fleet.confidence()
	}
	for i, r := range f.Rows {
		x := r.json()
		if to, ok := f.toFirst(i); ok {
			x.ToFirst = &toFirstJSON{stat.Number(to.Estimate), stat.Interval{to.Lo, to.Hi}}
		}
		out.Forecasts = append(out.Forecasts, x)
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(out)
}

func (r ForecastRow) json() forecastOut {
	if r.Err != nil {
		none := stat.Number(math.NaN())
		return forecastOut{Treatment: r.Name, Modelled: true, Life: none, Interval: stat.Interval{math.NaN(), math.NaN()},
			Watts: none, Peak: none, Joules: none, Parts: []forecastPart{}, Levers: []forecastLever{}, Rests: []string{},
			Why: r.Err.Error()}
	}
	out := forecastOut{Treatment: r.Name, Modelled: true, Life: stat.Number(r.Life), Interval: stat.Interval{r.Lo, r.Hi},
		Trials: r.Trials, Watts: stat.Number(r.Watts), Peak: stat.Number(r.Peak), Joules: stat.Number(r.Joules),
		Rests: orEmpty(r.Notes)}
	out.LeavesOut = r.lacks()
	for _, p := range r.Parts {
		out.Parts = append(out.Parts, forecastPart{p.Name, p.Watts, p.Share})
	}
	for _, l := range append([]battery.Lever{r.Period, r.Bytes}, r.Levers...) {
		out.Levers = append(out.Levers, forecastLever{l.Key, l.Unit, stat.Number(l.Value), stat.Interval{l.Low, l.High},
			stat.Interval{l.Lo, l.Hi}, l.Factor, stat.Number(l.Changed), l.Source})
	}
	return out
}
