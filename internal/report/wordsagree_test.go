package report

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/stat"
)

// drawnAttempts are those of treatments of which trials are lost, attempts fail, and requests fail, as often as it
// says.
func drawnAttempts(r *rand.Rand, treatments int, lost, faults, failed float64) []advise.Attempts {
	hits := func(n int, p float64) (k int) {
		for range n {
			if r.Float64() < p {
				k++
			}
		}
		return k
	}
	var out []advise.Attempts
	for i := range treatments {
		name := fmt.Sprint("t", i)
		a := advise.Attempts{Factors: []string{"stack"}, Levels: []string{name}, Name: name, Wanted: 5}
		if a.Valid = 5 - hits(5, lost); r.IntN(4) == 0 {
			a.Waiting = 0.5
		}
		for range a.Valid {
			n := hits(40, failed)
			a.Failed, a.Late = append(a.Failed, stat.Share{Hits: n, N: 40}), append(a.Late, r.IntN(n+1))
		}
		if n := hits(a.Valid, faults); n > 0 {
			a.Faults = advise.Faults{Attempts: n + r.IntN(3), Trials: n, InTime: r.IntN(n + 1), Saved: n, First: "it crashed"}
		}
		out = append(out, a)
	}
	return out
}

// What text says of lost trials, failed attempts and failed requests, JSON, JUnit and Markdown say, too: worse where
// chance does not explain it, undecided where chance or a wait may, good where nothing rose.
func TestFormatsAgreeOnLossesAndFailures(t *testing.T) {
	r := rand.New(rand.NewPCG(17, 2))
	seen := map[string]int{}
	for range 400 {
		n, share := 1+r.IntN(6), func() float64 { return []float64{0, 0, 0.02, 0.1, 0.6, 1}[r.IntN(6)] }
		old, new := drawnAttempts(r, n, 0, 0, 0.02*r.Float64()), drawnAttempts(r, n, share()/2, share(), share())
		if r.IntN(4) == 0 {
			old, new = new, old
		}
		c := Compared{Old: "old", New: "new", Confidence: 0.95}
		c.Lost, c.Failed = advise.Losses(old, new, 0.95), advise.FailuresOfTrials(old, new, 0.95)
		var text, junit, doc, markdown strings.Builder
		if c.Text(&text) != nil || c.JUnit(&junit) != nil || c.JSON(&doc) != nil || c.Markdown(&markdown) != nil {
			t.Fatal("cannot be written")
		}
		flat := strings.Join(strings.Fields(text.String()), " ")
		var got struct {
			Verdict  string
			Attempts []struct{ Treatment, Verdict string } `json:"failed_attempts"`
			Failed   []struct{ Treatment, Verdict string } `json:"failures_of"`
		}
		if err := json.Unmarshal([]byte(doc.String()), &got); err != nil {
			t.Fatal(err)
		}
		var suites struct {
			Suites []struct {
				Cases []struct {
					Class   string    `xml:"classname,attr"`
					Name    string    `xml:"name,attr"`
					Failure *struct{} `xml:"failure"`
					Skipped *struct{} `xml:"skipped"`
				} `xml:"testcase"`
			} `xml:"testsuite"`
		}
		if err := xml.Unmarshal([]byte(junit.String()), &suites); err != nil {
			t.Fatal(err)
		}
		cases := suites.Suites[0].Cases
		worst := ""
		check := func(item, word, inJSON string) {
			t.Helper()
			says := "good"
			switch {
			case strings.Contains(item, "chance does not explain it (") || strings.Contains(item, "is answered any more") ||
				strings.Contains(item, "explains it (") || strings.Contains(item, "is missing") ||
				strings.Contains(item, ": 0 of 5 trials are valid"):
				says, worst = "worse", "worse"
			case strings.Contains(item, "may explain it") || strings.Contains(item, "may have made requests late"):
				says = "undecided"
			}
			junitSays := "good"
			switch k := cases[0]; {
			case k.Failure != nil:
				junitSays = "worse"
			case k.Skipped != nil:
				junitSays = "undecided"
			}
			seen[says]++
			if cases = cases[1:]; word != says || inJSON != says || junitSays != says || !strings.Contains(flat, item) ||
				!strings.Contains(markdown.String(), markdownText(item)) {
				t.Errorf("%q: text says %s, the word is %s, JSON says %s, JUnit %s\n%s", item, says, word, inJSON, junitSays,
					text.String())
			}
		}
		for _, l := range c.Lost {
			inJSON := l.Word()
			if l.Retried {
				inJSON, got.Attempts = got.Attempts[0].Verdict, got.Attempts[1:]
			}
			check(l.String(), l.Word(), inJSON)
		}
		for i, f := range c.Failed {
			check(f.String(), f.Word(), got.Failed[i].Verdict)
		}
		if (worst == "worse") != (got.Verdict == "worse") || len(got.Attempts) > 0 || len(got.Failed) != len(c.Failed) {
			t.Errorf("the whole is %q, and its worst part %q:\n%s", got.Verdict, worst, text.String())
		}
	}
	if t.Log(seen); seen["worse"] < 100 || seen["undecided"] < 100 || seen["good"] < 30 {
		t.Errorf("too few of some: %v", seen)
	}
}
