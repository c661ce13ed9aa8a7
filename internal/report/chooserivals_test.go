package report

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/measure"
)

// The sentence that names the best of those that surely meet the requirements says so where others may meet them and
// have a better figure, or may have: whoever reads it alone takes it for the best of all.
func TestAnswerNamesWhoMayBeBetter(t *testing.T) {
	of := func(name, response string, side measure.Side, values ...float64) advise.Series {
		s := advise.Series{Factors: []string{"stack"}, Levels: []string{name}, Side: side, Response: response, Unit: "s"}
		for i, x := range values {
			s.Trials = append(s.Trials, advise.TrialSummary{ID: i + 1, Block: i + 1, Mean: x, Median: x})
		}
		return s
	}
	both := func(name string, rtt, cpu []float64) []advise.Series {
		return []advise.Series{of(name, "rtt", measure.Client, rtt...), of(name, "cpu", measure.Server, cpu...)}
	}
	short, long, open := []float64{1, 1.1, 0.9}, []float64{9, 9.2, 8.8}, []float64{4, 6, 5}
	surely := both("surely", []float64{2, 2.1, 1.9}, short)
	const among = "Choose surely: of those that surely meet what is required, smallest rtt 2.00 s (1.75 s to 2.25 s) at the " +
		"client; may meet that, too, with a "
	const alone = "Choose surely: smallest rtt 2.00 s (1.75 s to 2.25 s) at the client."
	for _, tt := range []struct {
		what  string
		other []advise.Series
		want  string
	}{
		{"better", both("other", []float64{1, 1.04, 0.96}, open), among + "better figure: other, 1.00 s."},
		{"perhaps", both("other", []float64{1, 4, 1.3}, open), among + "figure that may be better: other, 2.10 s."},
		{"worse", both("other", []float64{4, 4.2, 3.8}, open), alone},
		{"refused", both("other", []float64{1, 1.04, 0.96}, long), alone},
	} {
		need, err := advise.ParseRequirement("cpu < 5s")
		if err != nil {
			t.Fatal(err)
		}
		objective := advise.Objective{Term: advise.Term{Response: "rtt", Figure: "mean"}}
		c, err := advise.Choose(append(tt.other, surely...), []advise.Objective{objective}, []advise.Condition{need}, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		var text, data strings.Builder
		chosen := Chosen{Levels: []LevelChoice{{Choice: c}}}
		if err := chosen.Text(&text); err != nil {
			t.Fatal(err)
		}
		if err := chosen.JSON(&data); err != nil {
			t.Fatal(err)
		}
		var read chosenLevel
		if err := json.Unmarshal([]byte(data.String()), &read); err != nil {
			t.Fatal(err)
		}
		if said := strings.Join(strings.Fields(text.String()), " "); read.Answer != tt.want ||
			!strings.HasPrefix(said, tt.want+" treatment") {
			t.Errorf("%s: JSON says %q, and text\n%s", tt.what, read.Answer, text.String())
		}
	}
}

// Of a rival is said which side its figure is of, if that is another one, and whether it was measured.
func TestRivalsFiguresSayWhatTheyAre(t *testing.T) {
	of := advise.Estimate{Term: advise.Term{Side: measure.Server, Response: "cpu", Figure: "mean"}, Unit: "s",
		Modelled: true}
	of.Center.Center = 0.25
	got := fmt.Sprint(LevelChoice{}.figures([]advise.Candidate{{Name: "a", Objectives: []advise.Estimate{of}}},
		measure.Client))
	if want := "[a, 250 ms at the server (modelled)]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// What is first in a list in which nothing is compared is no choice.
func TestNothingIsChosenThatIsComparedWithNone(t *testing.T) {
	for _, tt := range []struct {
		ran  []ran
		want string
	}{
		{[]ran{{"a", 1, []float64{1}}, {"b", 1, []float64{2}}, {"c", 1, []float64{3}}},
			"Undecided, since no treatment is compared with another; first is a: smallest rtt"},
		{[]ran{{"a", 1, []float64{1, 1.01}}, {"b", 1, []float64{2, 2.01}}, {"c", 5, []float64{3}}}, "Choose a: smallest rtt"},
	} {
		c := chosenBy(t, reportOfRan(t, tt.ran...), "mean")
		l := LevelChoice{Choice: c}
		if got := l.answer(); !strings.HasPrefix(got, tt.want) || (Chosen{Levels: []LevelChoice{l}}).Alone() != c.Alone() {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}
