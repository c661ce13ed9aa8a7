package capacity

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/advise/slo"
	"edgegauge.example/edgegauge/internal/study"
	"edgegauge.example/edgegauge/internal/testbed"
)

var errOpened = errors.New("opened")

// opening is a host that runs nothing: what it is to open is in p.
func opening(t *testing.T, p *study.Plan) Host {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Host{Bed: testbed.New(testbed.Options{Exe: exe, Version: "test", Temp: t.TempDir(), Together: t.TempDir()}),
		Open: func(_ context.Context, plan study.Plan, _ []byte, _ string) (*testbed.Experiment, error) {
			*p = plan
			return nil, errOpened
		}}
}

func objectiveOf(t *testing.T) slo.SLO {
	t.Helper()
	o, err := slo.Parse("response_time p99 < 1s")
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// Of a study whose exclusions leave one treatment, that one is searched. Its factors are fixed, as without exclusions.
func TestTheTreatmentThatIsLeftIsSearched(t *testing.T) {
	objective := objectiveOf(t)
	for factors, want := range map[string]int{
		"{stack: [rest-json, rest-cbor]}": inFlight, "{stack: [rest-json, rest-cbor], concurrency: [1, 8]}": 8,
		"{stack: [rest-json, {name: mine, stack: rest-cbor, concurrency: 3}]}": 3,
	} {
		also := ""
		if strings.Contains(factors, "[1, 8]") {
			also = ", {concurrency: 1}"
		}
		var p study.Plan
		h := opening(t, &p)
		s := &studied{Host: h, out: &Answer{}, asked: Question{File: "s.yaml", SLO: objective, Length: time.Second,
			Precision: 5, Budget: 10, Text: []byte("study: s\nservice: monitor\nfactors: " + factors +
				"\nexclude: [{stack: rest-json}" + also + "]\n")}}
		if _, err := s.prepare(t.Context()); err != nil {
			t.Errorf("%s: %v", factors, err)
			continue
		}
		if _, err := s.Trials(t.Context(), [][]float64{{100, 200}}); !errors.Is(err, errOpened) {
			t.Fatalf("%s: %v", factors, err)
		}
		for _, trial := range p.Trials {
			if got := trial.Setup; got.Client.Stack != "reference/rest-cbor" || got.Concurrency != want {
				t.Errorf("%s: got %s, concurrency %d, want rest-cbor and %d", factors, got.Client.Stack, got.Concurrency, want)
			}
		}
	}
}

// What is proposed to a study of many treatments leaves one, typed as it stands.
func TestTheLevelsThatAreProposed(t *testing.T) {
	objective := objectiveOf(t)
	for _, factors := range []string{"{stack: [rest-json, rest-cbor], connection: [keep-alive, per-request]}",
		"{path: [{name: 'far, far', link: lte-m, requests: 5}, {name: near, link: none}], stack: [rest-json, soap]}",
		"{way: [{name: a, stack: rest-json}, {name: b, stack: rest-cbor}]}",
		"{stack: [rest-json, {name: mine, stack: rest-cbor}, soap], link: [none, {delay: 5ms}, lte-m]}"} {
		var p study.Plan
		h := opening(t, &p)
		q := Question{File: "s.yaml", SLO: objective, Length: time.Second, Precision: 5, Budget: 10,
			Text: []byte("study: s\nservice: monitor\nfactors: " + factors + "\n")}
		scale := ScalingQuestion{File: q.File, Text: q.Text, Length: time.Second, Most: 8, Blocks: 2}
		_, search := (&studied{Host: h, out: &Answer{}, asked: q}).prepare(t.Context())
		_, scaling := Scale(t.Context(), h, scale)
		q.Sets, scale.Sets = proposed(t, search), proposed(t, scaling)
		s := &studied{Host: h, out: &Answer{}, asked: q}
		if _, err := s.prepare(t.Context()); err != nil {
			t.Errorf("%s: with %q: %v", factors, q.Sets, err)
			continue
		}
		if _, err := s.Trials(t.Context(), [][]float64{{100, 200}}); !errors.Is(err, errOpened) || len(p.Trials) != 2 {
			t.Errorf("%s: with %q: %v, %d trials", factors, q.Sets, err, len(p.Trials))
		}
		if _, err := Scale(t.Context(), h, scale); !errors.Is(err, errOpened) || len(p.Trials) != 2*4 {
			t.Errorf("%s: scaling, with %q: %v, %d trials", factors, scale.Sets, err, len(p.Trials))
		}
	}
}

// proposed are the settings that an error proposes, as a shell reads them.
func proposed(t *testing.T, err error) (sets []string) {
	t.Helper()
	_, words, ok := strings.Cut(fmt.Sprint(err), ", for example ")
	if !ok {
		t.Fatalf("nothing is proposed: %v", err)
	}
	typed, err := exec.CommandContext(t.Context(), "sh", "-c", "printf '%s\\n' "+words).Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range strings.Split(strings.TrimSpace(string(typed)), "\n") {
		if word != "--set" {
			sets = append(sets, word)
		}
	}
	return sets
}
