package main

import (
	"encoding/csv"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/stacks/reference"
)

// What check says that treatments have no figure of, trials have none of, and they have all others: of each stack of
// this program, with one request at a time and with several.
func TestWhatCheckSaysOfResponsesIsWhatTrialsHave(t *testing.T) {
	o := newOwn(t)
	var stacks []string
	for _, d := range reference.Stacks() {
		if len(d.Needs) == 0 {
			stacks = append(stacks, strings.TrimPrefix(d.Name, reference.Prefix))
		}
	}
	o.write(t, "s.yaml", "study: s\nservice: temperature\nsensor: fixed:20\nrequests: 3\nfactors: {stack: ["+
		strings.Join(stacks, ", ")+"], concurrency: [1, 3]}\ndesign: {replications: 1, warmup: 4}\n")
	if out, code := o.run(t, "run", "-q", "s.yaml", "--set", "retries=5", "--out", "res"); code != exitDone {
		t.Fatalf("exit code %d: %s", code, out)
	}
	treatments := 2 * len(stacks)
	has := treatmentsWith(t, filepath.Join(o.dir, "res", "summary.csv"))
	for _, always := range []string{"rtt", "first_invoke", "discovery", "connection", "processing"} {
		if len(has[always]) == 0 {
			t.Errorf("no trial has %s", always)
		}
	}
	named := slices.DeleteFunc(slices.Sorted(maps.Keys(has)), func(r string) bool {
		_, ok := measure.FindResponse(r)
		return !ok
	})
	out, code := o.run(t, "check", "s.yaml", "--set", "responses=["+strings.Join(named, ", ")+"]")
	if code != exitDone {
		t.Fatalf("check: exit code %d: %s", code, out)
	}
	for _, r := range named {
		said := 0
		if m := regexp.MustCompile(`(\d+) of (\d+) treatments have no ` + r + ` \(`).FindStringSubmatch(out); m != nil {
			said, _ = strconv.Atoi(m[1])
			if m[2] != strconv.Itoa(treatments) {
				t.Errorf("%s: %s treatments, want %d", r, m[2], treatments)
			}
		}
		if lacking := treatments - len(has[r]); said != lacking {
			t.Errorf("check says that %d treatments have no %s, but %d have none; these have it: %v", said, r, lacking,
				slices.Sorted(maps.Keys(has[r])))
		}
	}

	// said before anything runs, with the same words and the same exit code
	const alone = "the study would measure nothing: response first_invoke is measured of clients whose first request"
	for _, verb := range [][]string{{"check"}, {"run", "--out", "none"}} {
		args := append(verb, "s.yaml", "--set", "factors.concurrency=[2, 3]", "--set", "factors.stack=[rest-json, coap-xml]",
			"--set", "responses=[first_invoke]")
		if out, code := o.run(t, args...); code != exitUsage || !strings.Contains(out, alone) {
			t.Errorf("%v: exit code %d: %s", verb, code, out)
		}
	}
}

// treatmentsWith tells which treatments of a summary have figures of a response, at any side.
func treatmentsWith(t *testing.T, path string) map[string]map[string]bool {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(string(text))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	at := map[string]int{}
	for i, name := range rows[0] {
		at[name] = i
	}
	out := map[string]map[string]bool{}
	for _, row := range rows[1:] {
		r := row[at["response"]]
		if out[r] == nil {
			out[r] = map[string]bool{}
		}
		out[r][row[at["stack"]]+" "+row[at["concurrency"]]] = true
	}
	return out
}
