package main

import (
	"path/filepath"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stack"
)

// slowness is by how much longer a client takes here to check an answer, and to close its connection.
const slowness = 100 * time.Millisecond

// The total of a skeleton's client ends when the answer was decoded: what it does then takes long here.
func TestSkeletonsTotalsEndWithTheAnswer(t *testing.T) {
	if testing.Short() {
		t.Skip("runs programs in other languages")
	}
	for _, tt := range []struct {
		lang, file string
		slower     []mutant
	}{
		{"python", "stack.py", []mutant{
			{old: "        if received != expected:", new: "        time.sleep(0.1)\n        if received != expected:"},
			{old: "            connection.close()\n", new: "            time.sleep(0.1)\n            connection.close()\n"},
		}},
		{"node", "stack.js", []mutant{{old: "    for (const f of Object.keys(expected)) {",
			new: "    await new Promise((done) => { setTimeout(done, 100); });\n    for (const f of Object.keys(expected)) {"}}},
		{"go", "main.go", []mutant{{old: "	if received != *c.expected {",
			new: "	time.Sleep(100 * time.Millisecond)\n	if received != *c.expected {"}}},
		{"rust", "src/main.rs", []mutant{{old: "        if received != self.expected {",
			new: "        std::thread::sleep(Duration::from_millis(100));\n        if received != self.expected {"}}},
		{"java", "Stack.java", []mutant{
			{old: "      if (!received.equals(expected))", new: "      Thread.sleep(100);\n      if (!received.equals(expected))"},
			{old: "        if (!keep) http.disconnect();",
				new: "        if (!keep) waitUntil(now() + 100_000_000);\n        if (!keep) http.disconnect();"},
		}},
		{"c", "stack.c", []mutant{
			{old: "  if (!wrong && !same(", new: "  poll(NULL, 0, 100);\n  if (!wrong && !same("},
			{old: "  if (client.c.fd >= 0) close(client.c.fd);",
				new: "  if (client.c.fd >= 0) poll(NULL, 0, 100), close(client.c.fd);"},
		}},
	} {
		t.Run(tt.lang, func(t *testing.T) {
			t.Parallel() // they wait more than they work
			dir := filepath.Join(t.TempDir(), "mine")
			if _, err := writeSkeleton(dir, "mine", tt.lang); err != nil {
				t.Fatal(err)
			}
			for _, m := range tt.slower {
				if err := m.apply(filepath.Join(dir, tt.file)); err != nil {
					t.Fatal(err)
				}
			}
			all := askedPerRequest(t, makeStack(t, dir))
			quickest := all[0].Total // a busy machine makes others longer
			for _, x := range all {
				if x.Failure != "" || x.Total <= 0 {
					t.Fatalf("request %d: total %v, %s", x.Seq, x.Total, x.Failure)
				}
				quickest = min(quickest, x.Total)
			}
			if quickest >= slowness {
				t.Errorf("a total is %v or more: the check of the answer or the end of the connection is part of it", quickest)
			}
		})
	}
}

// askedPerRequest are the records of a stack's client that asks its own server, each time over another connection.
func askedPerRequest(t *testing.T, d stack.Description) (all records) {
	t.Helper()
	s, ctx := asking(t, d, "per-request", nil)
	var served records
	if _, err := s.Measure(ctx, stack.Run{Requests: 6}, &all, &served); err != nil {
		t.Fatal(err)
	}
	return all
}

// records is a stack.Sink that keeps them.
type records []measure.Exchange

func (r *records) Record(x measure.Exchange) error { *r = append(*r, x); return nil }
func (*records) End(stack.End) error               { return nil }
