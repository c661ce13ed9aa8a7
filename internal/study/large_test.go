package study

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"edgegauge.example/edgegauge/internal/kernel"
)

// A fault is as short as that of a short word, however long what stands in the study is.
func TestLongWordsMakeNoLongFaults(t *testing.T) {
	long := strings.Repeat("ü", 100_000)
	for _, text := range []string{long + ": 1", "service: " + long, "link: {delay: " + long + "}",
		"responses: [" + long + "]", "factors: {stack: [soap, " + long + "]}", "options: {" + long + ": 1}"} {
		_, err := Parse("a.yaml", []byte("study: a\nstack: soap\n"+text+"\n"), vocabulary())
		if err == nil || len(err.Error()) > 3*(mostWords+200) || !utf8.ValidString(err.Error()) {
			t.Errorf("%.20s…: %d B of faults", text, len(fmt.Sprint(err)))
		}
	}
}

// What an exclusion names is found among many levels without looking at each of them, whatever words it uses.
func TestManyExcludedLevels(t *testing.T) {
	const n = 2000
	var levels, others, strangers []string
	for i := range n {
		levels = append(levels, fmt.Sprintf("%dkB", i+1))
		others = append(others, fmt.Sprintf("%d000B", i+2))
		strangers = append(strangers, fmt.Sprintf("%dB", i+1))
	}
	text := func(excluded []string) []byte {
		return fmt.Appendf(nil, "study: a\nservice: sort\nstack: soap\nfactors: {size: [%s]}\nexclude: [{size: [%s]}]\n",
			strings.Join(levels, ", "), strings.Join(excluded, ", "))
	}
	for what, x := range map[string]struct {
		text []byte
		left int
	}{"all but one": {text(others[:n-1]), 1}, "none that are there": {text(strangers[:900]), 0}} {
		left := 0
		allocated := testing.AllocsPerRun(1, func() {
			s, err := Parse("a.yaml", x.text, vocabulary())
			if left = s.Treatments(); (err == nil) != (x.left > 0) {
				t.Errorf("%s: %.200v", what, err)
			}
		})
		if left != x.left || allocated > 500*n { // to compare each with each takes several million
			t.Errorf("%s: %d treatments are left, want %d; %.0f allocations", what, left, x.left, allocated)
		}
	}
}

// Aliases do not make a small file a large one.
func TestAliasesOfLongTexts(t *testing.T) {
	text := "study: a\nexclude: &long [" + strings.Repeat(strings.Repeat("x", 20_000)+", ", 10) + "]\nresponses: [" +
		strings.Repeat("*long, ", 1000) + "]\n"
	_, err := Parse("a.yaml", []byte(text), vocabulary())
	var found Errors
	if !errors.As(err, &found) || len(found) > 200 {
		t.Fatalf("%d faults", len(found))
	}
	for _, x := range found {
		if strings.Contains(x.What, "more than 16 MiB of text, each alias counted") {
			return
		}
	}
	t.Errorf("it is not refused for its size; the first fault is %.100v", found[0])
}

// Where a study gives a trial's setting is found without looking at every level: check asks for each treatment.
func TestPlaceAmongManyLevels(t *testing.T) {
	asked := func(levels int) time.Duration {
		var list []string
		for i := range levels {
			list = append(list, strconv.Itoa(i+1))
		}
		s, err := Parse("a.yaml", fmt.Appendf(nil, "study: a\nservice: monitor\nstack: soap\nfactors: {requests: [%s]}\n"+
			"design: {replications: 1}\n", strings.Join(list, ", ")), vocabulary())
		if err != nil {
			t.Fatal(err)
		}
		p, err := Expand(s)
		if err != nil {
			t.Fatal(err)
		}
		began := kernel.OwnCPUTime()
		for i := range 2000 {
			trial := p.Trials[i%levels]
			if at, ok := p.Place(trial, "requests"); !ok || at != trial.Treatment[0].Pos {
				t.Fatalf("%v, %t", at, ok)
			}
			if _, ok := p.Place(trial, "server.url"); ok {
				t.Fatal("a setting that the study does not give has a place")
			}
		}
		return kernel.OwnCPUTime() - began
	}
	if few, many := asked(10), asked(20_000); many > 30*few+100*time.Millisecond {
		t.Errorf("%v among 20,000 levels, %v among 10", many, few)
	}
}

// Of very many faults the first are shown, and how many there are besides; the list has all.
func TestManyFaultsAreCounted(t *testing.T) {
	text := "study: a\nservice: monitor\nstack: soap\n"
	for i := range 1000 {
		text += fmt.Sprintf("unknown%d: 1\n", i)
	}
	_, err := Parse("a.yaml", []byte(text), vocabulary())
	var found Errors
	if !errors.As(err, &found) || len(found) != 1000 {
		t.Fatalf("%d faults, want 1000", len(found))
	}
	lines := strings.Split(err.Error(), "\n")
	if n := len(lines); n != MostShown+1 || lines[n-1] != "and 800 more" || lines[n-2] != found[MostShown-1].Error() {
		t.Errorf("%d lines, the last %q", n, lines[n-1])
	}
	if shown := found[:MostShown].Error(); strings.Count(shown, "\n") != MostShown-1 || strings.Contains(shown, " more") {
		t.Errorf("of %d faults %d lines are shown", MostShown, strings.Count(shown, "\n")+1)
	}
}
