package main

import (
	"bytes"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/fleet/wire"
	"edgegauge.example/edgegauge/internal/link"
	"edgegauge.example/edgegauge/internal/store"
)

// A fleet of real processes, each in a network of its own, which are killed, frozen, cut off and deceived at instants
// that are drawn from a seed. Then they are let alone, and the results are compared with those of the study run alone.

var (
	faultRuns  = flag.Int("faultruns", 1, "how many fleets TestFaults runs, each with faults of its own")
	faultSeed  = flag.Uint64("faultseed", 3020, "the first fleet's seed, the others follow; 0: any")
	faultsWide = flag.Int("faultswide", 1, "how many fleets run at once")
	faultSpan  = flag.Duration("faultspan", 20*time.Second, "for how long faults begin")
	faultCount = flag.Int("faultcount", 10, "how many faults a fleet meets")
	faultLog   = flag.String("faultlog", "", "file to which a line is added for each fleet")
)

const (
	faultLease  = 4 * time.Second
	faultEnds   = 10 * time.Minute // a study is over by then, or never
	hubDisk     = 48 << 20         // B that the hub's file system has
	faultsHub   = "hub"
	faultsBoss  = "coordinator"
	faultsLiar  = "liar"
	faultsThird = "stranger" // the end of whoever repeats what was said
)

var faultBenches = []string{"one", "two"}

// faultStudy is small, and ends in spite of a busy machine: a trial that is disturbed is repeated.
const faultStudy = `study: faults
service: monitor
factors:
  stack: [phantom, reference/rest-json]
requests: 20
retries: 20
responses: [rtt]
design: {replications: 24, warmup: 5}
`

// meet lets faults happen until the study is done or all are over.
func (f *faulty) meet(all []fault) (done bool) {
	type instant struct {
		at time.Duration
		do func()
	}
	var next []instant
	for _, x := range all {
		next = append(next, instant{x.at, func() {
			f.say("%v", x)
			end := f.begin(x)
			f.met[x.kind]++
			if x.lasts > faultLease && x.kind != "kill" {
				f.met["beyond the lease"]++
			}
			next = append(next, instant{x.at + x.lasts, func() { f.say("end of %s %s", x.kind, x.who); end() }})
			slices.SortStableFunc(next, func(a, b instant) int { return cmp.Compare(a.at, b.at) })
		}})
	}
	for !done && len(next) > 0 {
		if wait := next[0].at - time.Since(f.began); wait > 0 {
			time.Sleep(min(wait, 100*time.Millisecond))
			done = f.keep()
			continue
		}
		now := next[0]
		next = next[1:]
		now.do()
	}
	return done
}

// heal ends what may not have ended.
func (f *faulty) heal() {
	os.Remove(filepath.Join(f.dir, "disk", "filler"))
	for _, c := range f.cables {
		c.cut[toHub].Store(0)
		c.cut[fromHub].Store(0)
		c.late.Store(0)
	}
	for _, p := range f.procs {
		if p.held = false; p.cmd != nil {
			p.cmd.Process.Signal(syscall.SIGCONT)
		}
	}
}

// finish waits until the study is done.
func (f *faulty) finish() error {
	for end := time.Now().Add(faultEnds); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if f.keep() {
			return nil
		}
	}
	return fmt.Errorf("the study did not end within %v", faultEnds)
}

// judge compares the results with those of the study run alone, and counts blocks with other than exactly one valid
// result.
func (f *faulty) judge(alone string) (blocks, wrong int, err error) {
	want, err := os.ReadFile(filepath.Join(alone, "plan.csv"))
	if err != nil {
		return 0, 0, err
	}
	got, err := os.ReadFile(filepath.Join(f.out, "plan.csv"))
	if err == nil && !bytes.Equal(got, want) {
		err = errors.New("plan.csv is another than that of the study run alone")
	}
	if err != nil {
		return 0, 0, err
	}
	s, err := store.OpenReadOnly(f.out)
	if err != nil {
		return 0, 0, err
	}
	defer s.Close()
	if found := s.Verify(); len(found) > 0 {
		return 0, 0, fmt.Errorf("the results are not whole: %v", found)
	}
	blocks, wrong, states, err := countBlocks(s)
	for state, n := range states {
		f.met["attempts "+string(state)] = n
	}
	return blocks, wrong, err
}

// countBlocks counts blocks, and those of which not each trial has exactly one valid attempt, all on one bench.
func countBlocks(s *store.Store) (blocks, wrong int, states map[store.State]int, err error) {
	trials, err := s.Trials()
	if err != nil {
		return 0, 0, nil, err
	}
	attempts, err := s.Attempts(0)
	if err != nil {
		return 0, 0, nil, err
	}
	states = map[store.State]int{}
	valid, places := map[int]int{}, map[int]store.Bench{}
	for _, a := range attempts {
		if states[a.State]++; a.State == store.Valid {
			valid[a.Trial]++
			places[a.Trial] = a.Bench
		}
	}
	first, bad := map[int]store.Bench{}, map[int]bool{}
	for _, t := range trials {
		if t.State == store.Lacking { // its bench cannot run it, and need not
			bad[t.Block] = bad[t.Block] || valid[t.ID] != 0
			continue
		}
		if _, ok := first[t.Block]; !ok {
			first[t.Block] = places[t.ID]
		}
		bad[t.Block] = bad[t.Block] || valid[t.ID] != 1 || places[t.ID] != first[t.Block]
	}
	for _, b := range bad {
		if blocks++; b {
			wrong++
		}
	}
	return blocks, wrong, states, nil
}

// Whatever happens to a fleet of real processes, each block counts exactly once.
func TestFaults(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	needs(t, os.Geteuid() == 0 && link.Able() == nil, "root, for networks and file systems of its own")
	alone := t.TempDir()
	if err := os.WriteFile(filepath.Join(alone, "s.yaml"), []byte(faultStudy), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := runHere(alone, "run", "s.yaml", "--out", "alone"); err != nil {
		t.Fatal(err)
	}
	seed := *faultSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano()) >> 20
	}
	seeds := make(chan uint64)
	var running sync.WaitGroup
	var logging sync.Mutex
	for range *faultsWide {
		running.Go(func() {
			for seed := range seeds {
				t.Run(fmt.Sprint(seed), func(t *testing.T) {
					line := faultRun(t, seed, filepath.Join(alone, "alone"))
					t.Log(line)
					logging.Lock()
					defer logging.Unlock()
					if err := logFaults(line); err != nil {
						t.Error(err)
					}
				})
			}
		})
	}
	for i := range *faultRuns {
		seeds <- seed + uint64(i)
	}
	close(seeds)
	running.Wait()
}

func logFaults(line string) error {
	if *faultLog == "" {
		return nil
	}
	file, err := os.OpenFile(*faultLog, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(file, line)
	return errors.Join(err, file.Close())
}

// faultRun is one fleet's life. Its seed gives the same faults at the same instants again.
func faultRun(t *testing.T, seed uint64, alone string) string {
	random := rand.New(rand.NewPCG(seed, 0))
	all := drawFaults(random)
	f := newFaulty(t, seed, faultStudy)
	who, err := wire.ReadCredentials(filepath.Join(f.dir, "fleet", "coordinator.json"))
	f.must(err)
	end := f.repeat(who, rand.New(rand.NewPCG(seed, 1)))
	defer end()
	if random.IntN(2) == 0 {
		lies := f.lie(rand.New(rand.NewPCG(seed, 2)), alone)
		defer lies()
	}
	done := f.meet(all)
	f.heal()
	if !done {
		err = f.finish()
	}
	blocks, wrong := 0, 0
	if err == nil {
		blocks, wrong, err = f.judge(alone)
	}
	line := fmt.Sprintf("seed %d: %.0f s, %d blocks, %d wrong, error %v, met %v", seed,
		time.Since(f.began).Seconds(), blocks, wrong, err, f.met)
	if err != nil || wrong > 0 {
		kept := filepath.Join(os.TempDir(), fmt.Sprint("edgegauge-faults-", seed))
		for name := range f.procs {
			f.kill(name)
		}
		os.CopyFS(kept, os.DirFS(f.dir))
		t.Errorf("%s; what it left is in %s", line, kept)
	}
	return line
}
