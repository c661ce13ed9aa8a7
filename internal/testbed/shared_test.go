package testbed

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/fleet"
	"edgegauge.example/edgegauge/internal/kernel/kerneltest"
)

// What run would refuse with these benches, or with none, is found before, where it stands in the study.
func TestObstaclesOfStudiesThatBenchesShare(t *testing.T) {
	b := bed(t)
	const joint = "stack: rest-json\nduration: 1s\ndriven_from: 3"
	for _, tt := range []struct {
		study string
		with  *Sharing // nil: no benches
		want  string
	}{
		{joint, nil, "s.yaml:5:14: driven_from 3 takes 3 benches, and this machine is one; share the study with --benches"},
		{joint, &Sharing{Benches: 2}, "s.yaml:5:14: the study is driven from 3 benches (driven_from), and 2 are named; add " +
			"others to --benches"},
		{joint, &Sharing{Benches: 2, Here: true}, "and 2 are named"},
		{joint, &Sharing{Benches: 3}, ""},
		{joint, &Sharing{}, ""},
		{joint, &Sharing{Benches: 3, Here: true}, ""},
		{joint + "\nip: ipv6", &Sharing{Benches: 3, Here: true}, "s.yaml:6:5: the study asks for ipv6, but benches of one " +
			"machine reach each other at 127.0.0.1"},
		{joint + "\nip: ipv6", &Sharing{Benches: 3}, ""},
		{"stack: rest-json\ndesign: {replications: 2, spread: 1h}", nil, ""},
		{"stack: rest-json\ndesign: {replications: 2, spread: 1h}", &Sharing{}, "s.yaml:4:35: design.spread is for one " +
			"machine"},
		{"stack: rest-json\nio_dir: /no/such\nservice: io\nn: 100", &Sharing{Here: true}, "io_dir: "},
		{"stack: rest-json\nio_dir: /no/such\nservice: io\nn: 100", &Sharing{}, ""}, // of another machine only it knows
		{"stack: coap-cbor\nresponses: [wire_bytes]\ncapture: off", &Sharing{}, "wire_bytes is measured of captured packets"},
	} {
		text := "study: s\nservice: monitor\n" + tt.study + "\n"
		if strings.Contains(tt.study, "service:") {
			text = "study: s\n" + tt.study + "\n"
		}
		p, _, err := b.ReadElsewhere(t.Context(), "s.yaml", []byte(text), nil)
		if err != nil {
			t.Errorf("%s: %v", tt.study, err)
			continue
		}
		found := b.ObstaclesAlone(t.Context(), p)
		if tt.with != nil {
			found = b.ObstaclesShared(t.Context(), p, *tt.with)
		}
		if got := fmt.Sprint(found); (len(found) == 0) != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s, %+v: got %s, want %q", tt.study, tt.with, got, tt.want)
		}
	}
}

// A bench that is asked says why it cannot measure a study, or which treatments it would leave out, and is not
// disturbed while it measures.
func TestWhatABenchAnswers(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "frobbed"), 0o755); err != nil {
		t.Fatal(err)
	}
	kerneltest.WriteProgram(t, filepath.Join(dir, "frobbed", "stack.yaml"), `title: a stack
version: "1"
language: none
needs: [{program: no-such-frob, install: get it}]
serve: {command: [no-such-frob, serve]}
call: {command: [no-such-frob, call]}
serves:
  - {services: [monitor], encodings: [json], security: [none], transports: [http], sides: [server, client],
     connections: [keep-alive]}
`)
	b := bed(t, dir)
	const url = "server: {url: 'http://127.0.0.1:2/'}\nrequests: 5\n"
	for _, tt := range []struct {
		study string
		trust bool
		helps bool
		why   string
		lacks int
	}{
		{"service: monitor\nstack: rest-json\n", false, false, "", 0},
		{"service: monitor\nstack: frobbed\n", false, false, "this bench can run no treatment of the study: stack frobbed " +
			"cannot run here: no-such-frob is missing", 0},
		{"service: monitor\nfactors: {stack: [rest-json, frobbed]}\n", false, false, "this bench cannot run 1 of 2", 0},
		{"service: monitor\nfactors: {stack: [rest-json, frobbed]}\ndesign: {benches: incomplete}\n", false, false, "", 1},
		{"service: monitor\nstack: rest-jsn\n", false, false, "rest-jsn", 0},
		{url, false, false, "start its worker with --trust", 0},
		{url, true, false, "nothing listens at 127.0.0.1:2", 0},
		{"service: monitor\nstack: rest-json\nduration: 1s\ndriven_from: 2\n", false, false, "which is not an address", 0},
		{"service: monitor\nstack: rest-json\nduration: 1s\ndriven_from: 2\n", false, true, "", 0},
	} {
		s := &Station{Bed: b, Trust: tt.trust}
		got := s.Able(t.Context(), fleet.Question{Study: []byte("study: s\n" + tt.study), Helps: tt.helps})
		if got.Busy || (got.Why == "") != (tt.why == "") || !strings.Contains(got.Why, tt.why) || len(got.Lacks) != tt.lacks {
			t.Errorf("%s: got %+v, want %q and %d that it lacks", tt.study, got, tt.why, tt.lacks)
		}
		s.mu.Lock()
		if got := s.Able(t.Context(), fleet.Question{}); !got.Busy {
			t.Errorf("while it measures: got %+v", got)
		}
		s.mu.Unlock()
	}
}
