package testbed

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/study"
)

// ownExe is where an experiment's children find this program: a link to the binary
// that runs, below the scratch folder. Note: by its path, a later child would be
// what was built there meanwhile; a copy would lose the capabilities of the file.
func ownExe(scratch string) (string, error) {
	exe := filepath.Join(scratch, "edgegauge")
	return exe, os.Symlink("/proc/self/exe", exe)
}

// A stamp changes when a file does; it costs no reading.
type stamp struct {
	size     int64
	modified time.Time
	changed  time.Time // by the kernel's account, which no program sets
	inode    uint64
}

// A watched stack is its products as the run began.
type watched struct {
	sums   map[string]string // SHA-256, as in the facts
	stamps map[string]stamp
}

// watchStacks notes what the plan's stacks are made of. The function says, before
// each trial, whether its stacks are still that: stamps are compared, and only what
// differs there is read.
func (x *assembly) watchStacks(facts runFacts) (func(study.Trial) error, error) {
	all := map[string]*watched{}
	for name, d := range x.lab.Stacks {
		stamps, err := stamps(d)
		if err != nil {
			return nil, err
		}
		all[name] = &watched{facts.Stacks[name].Checksums, stamps}
	}
	return func(t study.Trial) error {
		for _, name := range []string{t.Setup.Client.Stack, t.Setup.Server.Stack} {
			if name == "" { // a service that is already running
				continue
			}
			if err := all[name].same(x.lab.Stacks[name]); err != nil {
				return fmt.Errorf("stack %s has changed since this run began: %w; rebuild the original and run again to resume, "+
					"or start a new run", name, err)
			}
		}
		return nil
	}, nil
}

func (w *watched) same(d stack.Description) error {
	now, err := stamps(d)
	if err != nil {
		return err
	}
	if maps.Equal(now, w.stamps) {
		return nil
	}
	sums, err := d.Checksums()
	if err != nil {
		return err
	}
	if diff := differing(w.sums, sums); len(diff) > 0 {
		return fmt.Errorf("%s changed", strings.Join(diff, ", "))
	}
	w.stamps = now // written anew, and the same
	return nil
}

// stamps are those of every file among a stack's products.
func stamps(d stack.Description) (map[string]stamp, error) {
	out := map[string]stamp{}
	for _, p := range d.Build.Product {
		err := filepath.WalkDir(filepath.Join(d.Dir, p), func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			i, err := os.Stat(path)
			if err != nil {
				return err
			}
			s := stamp{size: i.Size(), modified: i.ModTime()}
			if st, ok := i.Sys().(*syscall.Stat_t); ok {
				s.inode, s.changed = st.Ino, time.Unix(st.Ctim.Unix())
			}
			out[path] = s
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// differing are the files, at most three, that are not the same in both.
func differing(was, is map[string]string) []string {
	var out []string
	for _, f := range slices.Sorted(maps.Keys(was)) {
		if is[f] != was[f] {
			out = append(out, f)
		}
	}
	for _, f := range slices.Sorted(maps.Keys(is)) {
		if _, old := was[f]; !old {
			out = append(out, f)
		}
	}
	return out[:min(3, len(out))]
}

// changedSince says which programs differ from those that the results in dir were
// measured with; nil where there are none, or nothing was measured yet.
func changedSince(dir string, facts runFacts) []string {
	s, err := store.OpenReadOnly(dir)
	if err != nil {
		return nil
	}
	defer s.Close()
	trials, err := s.Trials()
	if err != nil || !slices.ContainsFunc(trials, func(t store.TrialState) bool { return t.State == store.Valid }) {
		return nil
	}
	runs, err := s.Runs()
	if err != nil {
		return nil
	}
	text, err := s.Facts(runs[len(runs)-1])
	if err != nil {
		return nil
	}
	var old runFacts
	if json.Unmarshal(text, &old) != nil {
		return nil
	}
	return facts.differ(old)
}

// differ says, in words, which programs of a run are not those of an older one.
func (f runFacts) differ(old runFacts) []string {
	var out []string
	if was, is := old.Edgegauge["sha256"], f.Edgegauge["sha256"]; was != is {
		out = append(out, fmt.Sprintf("another edgegauge (%.8s…, now %.8s…)", was, is))
	}
	for _, name := range slices.Sorted(maps.Keys(f.Stacks)) {
		was, ok := old.Stacks[name]
		if diff := differing(was.Checksums, f.Stacks[name].Checksums); ok && len(diff) > 0 {
			out = append(out, fmt.Sprintf("another stack %s (%s)", name, strings.Join(diff, ", ")))
		}
	}
	for _, url := range slices.Sorted(maps.Keys(f.Services)) {
		if diff := differing(old.Services[url].Bodies, f.Services[url].Bodies); len(diff) > 0 {
			out = append(out, fmt.Sprintf("another request to %s (%s)", url, strings.Join(diff, ", ")))
		}
	}
	return out
}
