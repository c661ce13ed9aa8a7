package capacity

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/advise/slo"
	"edgegauge.example/edgegauge/internal/lab"
	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/study"
	"edgegauge.example/edgegauge/internal/testbed"
)

func TestNoteIsFoundAgain(t *testing.T) {
	dir := t.TempDir()
	if _, err := ReadNote(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no note: %v", err)
	}
	n := Note{Format: noteFormat, SLO: "failed < 5%", Settings: []string{"size=1kB", "precision 2.5 %"}, First: 75,
		Most:   8000,
		Driver: 16000, Floor: "floor-tcp"}
	if err := n.write(dir); err != nil {
		t.Fatal(err)
	}
	got, err := ReadNote(dir)
	if err != nil || got.First != n.First || got.Most != n.Most || got.Driver != n.Driver || got.Floor != n.Floor ||
		got.Ended {
		t.Errorf("%+v, %v", got, err)
	}
	if err := got.asks(dir, n.SLO, n.Settings); err != nil {
		t.Error(err)
	}
	const or = "; ask the same, or name another directory"
	for want, other := range map[string]error{
		"that has failed < 5%; this one has failed < 6%" + or: got.asks(dir, "failed < 6%", n.Settings),
		"that has size=1kB" + or:                              got.asks(dir, n.SLO, n.Settings[1:]),
		"this one has late 2s" + or:                           got.asks(dir, n.SLO, append(n.Settings, "late 2s")),
		"the same settings in another order" + or:             got.asks(dir, n.SLO, []string{n.Settings[1], n.Settings[0]}),
	} {
		if other == nil || !strings.Contains(other.Error(), "holds another search: "+want) &&
			!strings.Contains(other.Error(), "holds another search: this one has "+want) {
			t.Errorf("want %q: %v", want, other)
		}
	}
	// How often an invalid trial is repeated is no part of the question, also in notes that have it.
	if err := got.asks(dir, n.SLO, append([]string{"retries=5"}, n.Settings...)); err != nil {
		t.Error(err)
	}
	got.Settings = append(got.Settings, "retries=2")
	if err := got.asks(dir, n.SLO, n.Settings); err != nil {
		t.Error(err)
	}
	// Nor is a password, which the note does not keep; one of before may.
	got.Settings = append(got.Settings, "client.meter=shelly:http://plug?password=secret")
	other := append(n.Settings[:2:2], "client.meter=shelly:http://plug?password=other")
	if err := got.asks(dir, n.SLO, other); err != nil {
		t.Error(err)
	}
	question := Question{Sets: got.Settings, Precision: 2.5}
	if s := (&studied{asked: question}).settings(); strings.Contains(strings.Join(s, " "), "secret") {
		t.Errorf("the note keeps %q", s)
	}
	for _, text := range []string{"{", `{"format": 2}`} {
		if err := os.WriteFile(filepath.Join(dir, NoteFile), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadNote(dir); err == nil || !strings.Contains(err.Error(), "not of this program") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// The flags of a note ask what was asked, also where the note is of before a budget was kept.
func TestNoteHasTheFlagsOfItsQuestion(t *testing.T) {
	objective, err := slo.Parse("failed < 5%, response_time p99 < 2s")
	if err != nil {
		t.Fatal(err)
	}
	q := Question{SLO: objective, Sets: []string{"size=1kB", "request={path: /late x}"}, Precision: 2.5,
		Late: 2 * time.Second, Period: time.Minute, Budget: 45}
	n := (&studied{asked: q, out: &Answer{}}).note(&Conductor{})
	want := "--slo|failed < 5%, response_time p99 < 2s|--precision|2.5|--late|2s|--period|1m|--budget|45"
	if got := strings.Join(n.Flags(), "|"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	n.Budget, n.Period = 0, ""
	if got := strings.Join(n.Flags(), "|"); got != strings.TrimSuffix(want, "|--period|1m|--budget|45") {
		t.Errorf("a note of before has %s", got)
	}
}

// The driver may be late by a tenth of the shortest bound, at most by 50 ms.
func TestLateness(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"response_time p99 < 200ms, rtt p50 < 100ms": 10 * time.Millisecond,
		"response_time p99 < 2s":                     50 * time.Millisecond,
		"failed < 1%":                                50 * time.Millisecond,
	} {
		objective, err := slo.Parse(text)
		if got := (Question{SLO: objective}).late(); err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
		if got := (Question{SLO: objective, Late: time.Second}).late(); got != time.Second {
			t.Errorf("%s, but one second: %v", text, got)
		}
	}
}

// A lab judges its driver at the percentile that the objective has.
func TestLabsJudgeThemselves(t *testing.T) {
	for text, share := range map[string]float64{"response_time p99.9 < 200ms, rtt p50 < 1s": 0.999, "failed < 1%": 0} {
		objective, err := slo.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		e := &testbed.Experiment{Lab: &lab.Lab{}}
		s := studied{asked: Question{SLO: objective}, Host: Host{Run: func(context.Context,
			*testbed.Experiment) (lab.Outcome, error) {
			return lab.Outcome{}, nil
		}}}
		if _, err := s.run(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		if !e.Lab.Overload || e.Lab.MostLate != s.asked.late() || math.Abs(e.Lab.LateShare-share) > 1e-9 {
			t.Errorf("%s: %v of the requests within %v", text, e.Lab.LateShare, e.Lab.MostLate)
		}
	}
}

// What a study says of lateness holds, unless the question says otherwise.
func TestLatenessOfTheStudy(t *testing.T) {
	for late, want := range map[time.Duration]time.Duration{0: 0, time.Second: time.Second} {
		p := study.Plan{Trials: []study.Trial{{Setup: &study.Setup{Population: study.Population{Lateness: time.Minute}}}}}
		e := &testbed.Experiment{Lab: &lab.Lab{Plan: p}}
		s := studied{asked: Question{Late: late}, Host: Host{Run: func(context.Context,
			*testbed.Experiment) (lab.Outcome, error) {
			return lab.Outcome{}, nil
		}}}
		if _, err := s.run(t.Context(), e); err != nil || e.Lab.MostLate != want {
			t.Errorf("asked for %v: got %v, %v", late, e.Lab.MostLate, err)
		}
	}
}

// Throughputs at growing concurrency are of one placement: by default one request under way is on one CPU.
func TestAScalingHasOnePlacement(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	opened := errors.New("opened")
	for says, want := range map[string]string{"": study.Free, "placement: together\n": study.Together} {
		var p study.Plan
		h := Host{Bed: testbed.New(testbed.Options{Exe: exe, Version: "test"}),
			Open: func(_ context.Context, plan study.Plan, _ []byte, _ string) (*testbed.Experiment, error) {
				p = plan
				return nil, opened
			}}
		_, err = Scale(t.Context(), h, ScalingQuestion{File: "s.yaml", Length: time.Second, Most: 4, Blocks: 2,
			Text: []byte("study: s\nservice: monitor\nstack: reference/rest-json\n" + says)})
		if !errors.Is(err, opened) || len(p.Trials) != 6 {
			t.Fatalf("got %d trials, %v", len(p.Trials), err)
		}
		for _, x := range p.Trials {
			if x.Setup.Placement != want {
				t.Errorf("%q, %d under way: got %q, want %q", says, x.Setup.Concurrency, x.Setup.Placement, want)
			}
		}
	}
}

// The driver is measured against the bare server of the same transport, where it is this program's and here.
// The driver is measured where the study has it.
func TestTheDriversPlace(t *testing.T) {
	for want, s := range map[string]struct {
		setup study.Setup
		pin   study.Pin
	}{
		"placement: together":                  {setup: study.Setup{Placement: study.Together}},
		"pin: {client: [1], server: [0]}":      {pin: study.Pin{Client: []int{1}, Server: []int{0}}},
		"pin: {client: [1, 2]}":                {pin: study.Pin{Client: []int{1, 2}}},
		"pin: {server: [0]}":                   {pin: study.Pin{Server: []int{0}}},
		"responses: [throughput]":              {},
		"stack: floor-udp\nconcurrency: 8":     {setup: study.Setup{Concurrency: 8}},
		"concurrency: 0\nduration: 1s\ndesign": {},
	} {
		text := string(driverStudy("floor-udp", &s.setup, s.pin))
		if !strings.Contains(text, want) || strings.Contains(text, "pin") != (len(s.pin.Client)+len(s.pin.Server) > 0) {
			t.Errorf("no %q in %s", want, text)
		}
	}
}

// The bounds of a search are of the placement that its trials have: with one request under way a closed loop has
// another by default.
func TestBoundsHaveThePlacementOfTrials(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	objective, err := slo.Parse("response_time p99 < 100ms")
	if err != nil {
		t.Fatal(err)
	}
	opened := errors.New("opened")
	for says, want := range map[string]string{"": study.Free, "concurrency: 1\n": study.Free,
		"concurrency: 1\nplacement: together\n": study.Together, "pin: {client: [0]}\n": ""} {
		var p study.Plan
		h := Host{Bed: testbed.New(testbed.Options{Exe: exe, Version: "test", Temp: t.TempDir(),
			Together: t.TempDir()}),
			Open: func(_ context.Context, plan study.Plan, _ []byte, _ string) (*testbed.Experiment, error) {
				p = plan
				return nil, opened
			}}
		s := &studied{Host: h, out: &Answer{}, asked: Question{File: "s.yaml", SLO: objective, Length: time.Second,
			Precision: 5, Budget: 10, Text: []byte("study: s\nservice: monitor\nstack: reference/rest-json\n" + says)}}
		if _, err := s.prepare(t.Context()); err != nil {
			t.Fatal(err)
		}
		for what, measure := range map[string]func(context.Context) (float64, error){"driver": s.Driver,
			"closed loop": s.Closed} {
			if _, err := measure(t.Context()); !errors.Is(err, opened) || len(p.Trials) != 1 {
				t.Fatalf("%q, %s: %d trials, %v", says, what, len(p.Trials), err)
			}
			if got := p.Trials[0].Setup.Placement; got != want {
				t.Errorf("%q, %s: got %q, want %q", says, what, got, want)
			}
		}
	}
}

// Trials are warmed up as those of run are, unless the study says otherwise.
func TestTrialsAreWarm(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	opened := errors.New("opened")
	const own = "service: monitor\nstack: reference/rest-json\n"
	for _, tt := range []struct {
		study, slo    string
		search, scale study.Span
	}{
		{own, "response_time p99 < 1s", study.Span{Requests: 100}, study.Span{Requests: 100}},
		{own + "requests: 10\n", "response_time p99 < 1s", study.Span{Requests: 100}, study.Span{Requests: 100}},
		{own, "response_time median < 1s", study.Span{Requests: 20}, study.Span{Requests: 100}},
		{own + "design: {warmup: 0}\n", "response_time p99 < 1s", study.Span{}, study.Span{}},
		{own + "design: {warmup: 5s}\n", "response_time p99 < 1s", study.Span{Time: 5 * time.Second},
			study.Span{Time: 5 * time.Second}},
		{"server: {url: \"http://127.0.0.1:1\"}\nrequest: {path: /}\n", "response_time p99 < 1s", study.Span{},
			study.Span{}},
	} {
		objective, err := slo.Parse(tt.slo)
		if err != nil {
			t.Fatal(err)
		}
		var got study.Span
		h := Host{Bed: testbed.New(testbed.Options{Exe: exe, Version: "test", Temp: t.TempDir(),
			Together: t.TempDir()}),
			Open: func(_ context.Context, plan study.Plan, _ []byte, _ string) (*testbed.Experiment, error) {
				got = plan.Study.Design.WarmUp
				return nil, opened
			}}
		text := []byte("study: s\n" + tt.study)
		s := &studied{Host: h, out: &Answer{}, asked: Question{File: "s.yaml", SLO: objective, Length: time.Second,
			Precision: 5, Budget: 10, Text: text}}
		if _, err := s.prepare(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Trials(t.Context(), [][]float64{{1000}}); !errors.Is(err, opened) || got != tt.search {
			t.Errorf("%q: a search has %v, want %v; %v", tt.study, got, tt.search, err)
		}
		_, err = Scale(t.Context(), h, ScalingQuestion{File: "s.yaml", Length: time.Second, Most: 2, Blocks: 2, Text: text})
		if !errors.Is(err, opened) || got != tt.scale {
			t.Errorf("%q: a scaling has %v, want %v; %v", tt.study, got, tt.scale, err)
		}
	}
}

func TestFloor(t *testing.T) {
	own := study.Side{Stack: "reference/go", Device: "local"}
	for _, tt := range []struct {
		setup study.Setup
		want  string
	}{
		{study.Setup{Client: own, Transport: "http"}, "floor-tcp"},
		{study.Setup{Client: own, Transport: "coap"}, "floor-udp"},
		{study.Setup{Client: own, URL: "coap://[::1]/"}, "floor-udp"},
		{study.Setup{Client: study.Side{Stack: "gsoap", Device: "local"}, Transport: "http"}, ""},
		{study.Setup{Client: study.Side{Stack: "reference/go", Device: "board"}, Transport: "http"}, ""},
	} {
		if got := floor(&tt.setup); got != tt.want {
			t.Errorf("%+v: %q", tt.setup, got)
		}
	}
}

// Attempts and the trials that they were of are different numbers, and each trial has a reason.
func TestInvalidAttemptsAreCounted(t *testing.T) {
	s := &studied{out: &Answer{Invalid: 7, Why: []string{"of before"}}}
	var all []store.AttemptState
	for _, x := range []struct {
		trial int
		state store.State
		why   string
	}{{1, store.Valid, ""}, {2, store.Invalid, "it rained"}, {2, store.Invalid, "it poured"}, {2, store.Valid, ""},
		{3, store.Invalid, "it snowed"}, {3, store.Valid, ""}} {
		all = append(all, store.AttemptState{AttemptID: store.AttemptID{Trial: x.trial}, State: x.state, Reason: x.why})
	}
	s.count(all)
	if s.out.Invalid != 3 || s.out.Refused != 2 || !slices.Equal(s.out.Why, []string{"it rained", "it snowed"}) {
		t.Errorf("%+v", s.out)
	}
}

// Where a trial was given up, the advice is a command that goes on.
func TestALostTrialIsNamed(t *testing.T) {
	if err := lost(lab.Outcome{Valid: 3}, "r", 2); err != nil {
		t.Error(err)
	}
	o := lab.Outcome{Missing: []store.TrialState{{Reason: "trial 4: it rained; see trials/0004/call.log", Attempts: 3}}}
	for dir, wants := range map[string][]string{
		"r/1": {"1 trial could not be measured", "logs are below r/1", "\n  trial 4: it rained; see trials/0004/call.log (3",
			"after 3 invalid attempts", "the same command again with --set retries=5 --out r/1: "},
		"a b/1": {"logs are below a b/1", "--set retries=5 --out 'a b/1': "},
		"":      {"before the first trial", "logs are not kept", "run the same command again"},
	} {
		err := lost(o, dir, 2)
		for _, want := range wants {
			if err == nil || !strings.Contains(err.Error(), want) || dir == "" && strings.Contains(err.Error(), "--out") {
				t.Errorf("no %q in %v", want, err)
			}
		}
	}
}
