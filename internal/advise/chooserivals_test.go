package advise

import (
	"math/rand/v2"
	"slices"
	"testing"

	"edgegauge.example/edgegauge/internal/stat"
)

// Who may meet the requirements, and is better than the best of those that do, or may be, is a rival of it, and nobody
// else: not who is worse, breaks a requirement, or has exactly as much and no other merit.
func TestRivalsAreThoseThatMayBeBetter(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 53))
	all := []Series{}
	for _, x := range []struct {
		name      string
		size, rtt float64
	}{{"surely", 50, 0.010}, {"small", 20, 0.100}, {"near", 50.1, 0.100}, {"large", 90, 0.100}, {"refused", 10, 0.300}} {
		all = append(all, series(x.name, "message_size", around(r, x.size, 0.05, 10)...),
			series(x.name, "rtt", around(r, x.rtt, 0.05, 10)...), series(x.name, "cpu", around(r, 1/x.size, 0.05, 10)...))
	}
	for _, tt := range []struct {
		objective       Objective
		better, perhaps []string
	}{
		{Objective{Term: mustTerm(t, "message_size")}, []string{"small"}, []string{"near"}},
		{Objective{Term: mustTerm(t, "cpu"), Maximize: true}, []string{"small"}, []string{"near"}},
		{Objective{Term: mustTerm(t, "rtt")}, nil, nil},
	} {
		c, err := Choose(all, []Objective{tt.objective}, []Condition{mustRequire(t, "rtt < 100ms")}, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		if best, ok := c.Best(); !ok || best.Name != "surely" {
			t.Fatalf("%s: the best is %q, %v", tt.objective, best.Name, ok)
		}
		better, perhaps := c.Rivals()
		if got, also := namesOf(better), namesOf(perhaps); !slices.Equal(got, tt.better) ||
			!slices.Equal(also, tt.perhaps) {
			t.Errorf("%s: got %q and %q, want %q and %q", tt.objective, got, also, tt.better, tt.perhaps)
		}
	}

	// Whoever has exactly as much is one where another objective speaks for it.
	even := []Series{series("surely", "message_size", 50, 50, 50), series("same", "message_size", 50, 50, 50),
		series("surely", "rtt", around(r, 0.010, 0.05, 3)...), series("same", "rtt", 0.09, 0.1, 0.11),
		series("surely", "cpu", 3, 3.1, 2.9), series("same", "cpu", 2, 2.1, 1.9)}
	for cpu, want := range map[bool][]string{false: nil, true: {"same"}} {
		objectives := []Objective{{Term: mustTerm(t, "message_size")}}
		if cpu {
			objectives = append(objectives, Objective{Term: mustTerm(t, "cpu")})
		}
		c, err := Choose(even, objectives, []Condition{mustRequire(t, "rtt < 100ms")}, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		better, perhaps := c.Rivals()
		if got := namesOf(perhaps); len(better) > 0 || !slices.Equal(got, want) {
			t.Errorf("with CPU time %v: got %q and %q, want %q", cpu, namesOf(better), got, want)
		}
	}

	// Better on average, for blocks that the best lacks, and worse in those of both.
	quick := around(r, 30, 0.02, 10)
	unlike := []Series{series("surely", "message_size", around(r, 50, 0.02, 10)...), series("surely", "rtt", 0.01, 0.011),
		series("more blocks", "message_size", append(around(r, 60, 0.02, 10), quick...)...),
		series("more blocks", "rtt", 0.09, 0.11)}
	c, err := Choose(unlike, []Objective{{Term: mustTerm(t, "message_size")}},
		[]Condition{mustRequire(t, "rtt < 100ms")}, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	if better, perhaps := c.Rivals(); len(better) > 0 || !slices.Equal(namesOf(perhaps), []string{"more blocks"}) {
		t.Errorf("blocks disagree: got %q and %q", namesOf(better), namesOf(perhaps))
	}

	c, err = Choose(all, []Objective{{Term: mustTerm(t, "rtt")}}, []Condition{mustRequire(t, "rtt < 1ms")}, 0.95)
	if err != nil || c.Candidates[0].Meets != stat.Contradicted {
		t.Fatalf("got %+v, %v", c.Candidates[0], err)
	}
	if better, perhaps := c.Rivals(); len(better)+len(perhaps) > 0 {
		t.Errorf("there is no best, and it has rivals: %q, %q", namesOf(better), namesOf(perhaps))
	}
}

func namesOf(cs []Candidate) []string {
	var out []string
	for _, x := range cs {
		out = append(out, x.Name)
	}
	return out
}
