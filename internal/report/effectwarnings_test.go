package report

import (
	"encoding/json"
	"errors"
	"html"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/store"
)

// Each warning that one format has, every format has: the page under its figure, Markdown and LaTeX below its table,
// and a terminal at the end, each kind once and with the first figure.
func TestEveryFormatHasEveryWarning(t *testing.T) {
	const file = "study: s\nservice: monitor\nfactors: {stack: [a, b, c], n: [1, 2]}\nrequests: 100\n" +
		"design: {replications: 24, seed: 1}\n"
	kinds := map[string]int{}
	for n := range 12 {
		rnd := rand.New(rand.NewPCG(7, uint64(n)))
		walk, place := make([]float64, 30), map[int]int{}
		for i := 1; i < len(walk); i++ {
			walk[i] = 0.9*walk[i-1] + 0.05*rnd.NormFloat64()
		}
		w := exactly(nil)
		w.exact = func(at map[string]string, block int) []store.Result {
			var out []store.Result
			for k, name := range []string{"rtt", "total_time", "cpu", "message_size"} {
				v := 1e-3 * (1 + 0.02*rnd.NormFloat64())
				switch (n + k) % 4 {
				case 0: // the machine slows down
					v *= 1 + 0.05*float64(block)
				case 1: // later places are slower
					v *= 1 + 0.3*float64(place[block])
				case 2: // one varies far more, and not as the normal distribution does
					if at["stack"] == "b" {
						v *= math.Exp(0.5 * rnd.NormFloat64() * rnd.ExpFloat64())
					}
				case 3: // one drifts by itself
					if at["stack"] == "c" {
						v *= math.Exp(walk[block])
					}
				}
				x, _ := measure.FindResponse(name)
				if x.Unit == "B" {
					v = math.Round(v * 1e5)
				}
				out = append(out, store.Result{Side: measure.Client, Response: name, Unit: x.Unit, N: 100, Mean: v, SD: v / 10,
					Median: v, P95: 1.2 * v, Min: 0.9 * v, Max: 1.3 * v, Method: store.Measured})
			}
			place[block]++
			return out
		}
		r := reportOf(t, w.write(t, file))
		var text, markdown, latex, page, object strings.Builder
		if err := errors.Join(r.Text(&text), r.Markdown(&markdown), r.LaTeX(&latex), r.HTML(&page),
			r.JSON(&object)); err != nil {
			t.Fatal(err)
		}
		var all struct {
			Warnings []string
			Cells    []struct {
				Unit     string
				Warnings []string
			}
			Effects []struct{ Response, Side, Warnings json.RawMessage }
		}
		if err := json.Unmarshal([]byte(object.String()), &all); err != nil {
			t.Fatal(err)
		}
		// of figures in bytes, and of medians beside means, the page and the documents have them
		type said struct {
			text     string
			terminal bool
		}
		var warnings []said
		for _, w := range all.Warnings {
			warnings = append(warnings, said{w, true})
		}
		for _, c := range all.Cells {
			for _, w := range c.Warnings {
				warnings = append(warnings, said{w, c.Unit != "B" && !strings.HasPrefix(w, "median: ")})
			}
		}
		for _, e := range all.Effects {
			var own []string
			if err := json.Unmarshal(e.Warnings, &own); err != nil {
				t.Fatal(err)
			}
			for _, w := range own {
				warnings = append(warnings, said{w, string(e.Response) != `"message_size"`})
				kinds[aNumber().ReplaceAllString(ofPair().ReplaceAllString(w, ""), "#")]++
			}
		}
		joined := strings.Join(strings.Fields(text.String()), " ")
		unnumbered := aNumber().ReplaceAllString(joined, "#")
		body := html.UnescapeString(page.String())
		for _, w := range warnings {
			for format, has := range map[string]bool{
				"markdown": strings.Contains(markdown.String(), strings.TrimPrefix(markdownLine(w.text), `\`)),
				"latex":    strings.Contains(latex.String(), latexText(w.text)),
				"html":     strings.Contains(body, w.text),
				"text": !w.terminal || strings.Contains(unnumbered, strings.Join(strings.Fields(aNumber().ReplaceAllString(
					ofPair().ReplaceAllString(w.text, ""), "#")), " ")),
			} {
				if !has {
					t.Errorf("study %d: %s lacks %q", n, format, w.text)
				}
			}
		}
		for kind := range kinds {
			if got := strings.Count(unnumbered, strings.Join(strings.Fields(kind), " ")); got > 1 {
				t.Errorf("study %d: a terminal has it %d times: %q", n, got, kind)
			}
		}
		if !strings.Contains(joined, "such figures: ") && !strings.Contains(joined, "(1 figure: ") {
			t.Errorf("study %d: no figure is named:\n%s", n, text.String())
		}
	}
	for _, of := range []string{"drift of the blocks' means", "order effect: place in the block",
		"treatments differ in variance", "residuals are not normal", "blocks follow each other"} {
		if !slices.ContainsFunc(sortedKeys(kinds), func(kind string) bool { return strings.Contains(kind, of) }) {
			t.Errorf("no study had %q: %v", of, kinds)
		}
	}
}
