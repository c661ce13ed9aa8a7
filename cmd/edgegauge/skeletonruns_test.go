package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/device"
	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/stacks/skeletons"
)

// slowPrints have a skeleton's client take 100 ms for each record that it prints.
var slowPrints = map[string]struct {
	file string
	mutant
}{
	"python": {"stack.py", mutant{old: "            say(type=\"exchange\", **x)\n",
		new: "            time.sleep(0.1)\n            say(type=\"exchange\", **x)\n"}},
	"node": {"stack.js", mutant{old: "    records.forEach((x) => say(x));\n",
		new: "    for (const x of records) { await new Promise((done) => { setTimeout(done, 100); }); say(x); }\n"}},
	"go": {"main.go", mutant{old: "	for i, x := range all {\n",
		new: "	for i, x := range all {\n		time.Sleep(100 * time.Millisecond)\n"}},
	"rust": {"src/main.rs", mutant{old: "        for (i, x) in all.iter().enumerate() {\n",
		new: "        for (i, x) in all.iter().enumerate() {\n            std::thread::sleep(Duration::from_millis(100));\n"}},
	"java": {"Stack.java", mutant{old: "      Record r = records.get(i);\n",
		new: "      Record r = records.get(i);\n      waitUntil(now() + 100_000_000);\n"}},
	"c": {"stack.c", mutant{old: "    print(&all[i], i + 1, start);\n",
		new: "    poll(NULL, 0, 100), print(&all[i], i + 1, start);\n"}},
}

// The lab reads a client's CPU time when its first record comes: none but that has been made by then.
func TestSkeletonsPrintTheirFirstRecordAtOnce(t *testing.T) {
	const requests = 6
	eachSkeleton(t, func(t *testing.T, lang, dir string) {
		slow := slowPrints[lang]
		if err := slow.apply(filepath.Join(dir, slow.file)); err != nil {
			t.Fatal(err)
		}
		s, ctx := asking(t, makeStack(t, dir), "keep-alive", nil)
		quickest := time.Hour // a busy machine makes others longer
		for range 3 {
			var all, served records
			span, err := s.Measure(ctx, stack.Run{Requests: requests}, &all, &served)
			if err != nil || len(all) != requests {
				t.Fatalf("%d records: %v", len(all), err)
			}
			quickest = min(quickest, span.Length()-all[requests-1].Done)
		}
		if quickest >= requests*slowness/2 {
			t.Errorf("the first record comes %v or more after the last answer: all were made before it", quickest)
		}
	})
}

// eachSkeleton does a test with the folder of each new skeleton.
func eachSkeleton(t *testing.T, do func(t *testing.T, lang, dir string)) {
	if testing.Short() {
		t.Skip("runs programs in other languages")
	}
	for _, lang := range skeletons.Languages() {
		t.Run(lang, func(t *testing.T) {
			t.Parallel() // they wait more than they work
			dir := filepath.Join(t.TempDir(), "mine")
			if _, err := writeSkeleton(dir, "mine", lang); err != nil {
				t.Fatal(err)
			}
			do(t, lang, dir)
		})
	}
}

// A delay that a skeleton does not understand is refused: without a wait its figures would be of another treatment.
func TestSkeletonsRefuseAnUnknownDelay(t *testing.T) {
	eachSkeleton(t, func(t *testing.T, _, dir string) {
		d := makeStack(t, dir)
		exe, err := os.Executable()
		ok(t, err)
		serve := func(delay string) error {
			p, err := startProgram(t.Context(), device.Local{Exe: exe}, t.TempDir(), d, "serve")
			ok(t, err)
			defer p.Stop(10 * time.Second)
			s := servesEcho
			s.Options = map[string]string{"delay": delay}
			_, err = p.Conn().Serve(t.Context(), s)
			return err
		}
		for _, delay := range []string{"1ms", "abc", "1.5", "1e6", "-5", " 5", "99999999999999999999"} {
			want := fmt.Sprintf("unknown options.delay %q; write nanoseconds, such as 1000000", delay)
			if err := serve(delay); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("delay %q: got %v, want %s", delay, err, want)
			}
		}
		for _, delay := range []string{"0", "1000000"} {
			if err := serve(delay); err != nil {
				t.Errorf("delay %q: %v", delay, err)
			}
		}
	})
}

// servesEcho is what the servers of these tests are told.
var servesEcho = stack.Serve{Service: "echo", Encoding: "json", Security: "none", Transport: "http", Host: "127.0.0.1",
	Limits: stack.Limits{Body: 1 << 20}}

// asking is a session of a stack's client that asks its own server, by the URL that through makes of the server's.
func asking(t *testing.T, d stack.Description, connection string, through func(server string) string) (*stack.Session,
	context.Context) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	start := func(verb string) *stack.Conn {
		p, err := startProgram(ctx, device.Local{Exe: exe}, t.TempDir(), d, verb)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { p.Stop(10 * time.Second) })
		return p.Conn()
	}
	s := &stack.Session{Server: start("serve"), Client: start("call")}
	ready, err := s.StartServer(ctx, servesEcho)
	if err != nil {
		t.Fatal(err)
	}
	if through != nil {
		ready.URL = through(ready.URL)
	}
	if _, err := s.StartClient(ctx, stack.Call{URL: ready.URL, Service: "echo", Encoding: "json", Security: "none",
		Transport: "http", Message: stack.Message{Seed: 7, N: 40}, Connection: connection,
		Timeout: int64(20 * time.Second), Limits: stack.Limits{Body: 1 << 20}}); err != nil {
		t.Fatal(err)
	}
	return s, ctx
}
