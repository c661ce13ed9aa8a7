package testbed

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"edgegauge.example/edgegauge/internal/device"
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
		was := x.stamps[name]
		if was == nil {
			var err error
			if was, err = stamps(d); err != nil {
				return nil, err
			}
		}
		all[name] = &watched{facts.Stacks[name].Checksums, was}
	}
	return func(t study.Trial) error {
		for _, name := range []string{t.Setup.Client.Stack, t.Setup.Server.Stack} {
			if name == "" { // a service that is already running
				continue
			}
			if err := all[name].same(x.lab.Stacks[name]); err != nil {
				return fmt.Errorf("stack %s has changed since this run began: %w, and run again to resume, or start a new run%s",
					name, err, ownFiles(x.lab.Stacks[name]))
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
		what := "rebuild"
		if len(d.Build.Command) == 0 {
			what = "restore"
		}
		return fmt.Errorf("%s changed; %s the original", strings.Join(diff, ", "), what)
	}
	w.stamps = now // written anew, and the same
	return nil
}

// ownFiles says what to do where a stack itself writes files that its commands name.
func ownFiles(d stack.Description) string {
	if len(d.Build.Product) > 0 {
		return ""
	}
	return "; if the stack itself writes that file, say in its stack.yaml what it consists of: build: {product: [FILE]}"
}

// stamps are those of every file that a stack consists of.
func stamps(d stack.Description) (map[string]stamp, error) {
	out := map[string]stamp{}
	err := d.WalkFiles(func(_, path string) error {
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
	return out, err
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

// changedSince says what differs from what the results in dir were measured with, as differ does; nil where
// there are none, or nothing was measured yet.
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

// differ says, in words, what a run is measured with that an older one was not: programs, machines, links,
// power models and sensors. What either does not know differs in nothing.
func (f runFacts) differ(old runFacts) []string {
	out := f.differAround(old)
	if was, is := old.Edgegauge["sha256"], f.Edgegauge["sha256"]; was != is {
		out = append(out, fmt.Sprintf("another edgegauge (%.8s…, now %.8s…)", was, is))
	}
	for _, name := range slices.Sorted(maps.Keys(f.Stacks)) {
		was, ok := old.Stacks[name]
		if diff := differing(was.Checksums, f.Stacks[name].Checksums); ok && len(was.Checksums) > 0 && len(diff) > 0 {
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

// differAround is differ of what is around the programs.
func (f runFacts) differAround(old runFacts) (out []string) {
	for _, name := range slices.Sorted(maps.Keys(f.Devices)) {
		if was, ok := old.Devices[name]; ok {
			if diff := differing(machineOf(was), machineOf(f.Devices[name])); len(diff) > 0 {
				out = append(out, fmt.Sprintf("another machine as device %s (%s)", name, strings.Join(diff, ", ")))
			}
		}
	}
	out = append(out, others("link", old.Links, f.Links)...)
	out = append(out, others("power model", old.Models, f.Models)...)
	return append(out, others("sensor", old.Sensors, f.Sensors)...)
}

// machineOf are the facts of a device that stay as long as it is the same one.
func machineOf(d device.Facts) map[string]string {
	all := maps.Clone(d.Emulation)
	if all == nil {
		all = map[string]string{}
	}
	for _, passing := range []string{"host load", "started in"} {
		delete(all, passing)
	}
	all["model"], all["architecture"], all["kernel"], all["CPUs"] = d.Model, d.Arch, d.Kernel, fmt.Sprint(d.CPUs)
	return all
}

// others names what has the same name in both and is not the same.
func others[T any](what string, was, is map[string]T) (out []string) {
	for _, name := range slices.Sorted(maps.Keys(is)) {
		old, ok := was[name]
		if a, _ := json.Marshal(old); ok {
			if b, _ := json.Marshal(is[name]); !bytes.Equal(a, b) {
				out = append(out, fmt.Sprintf("another %s %s", what, name))
			}
		}
	}
	return out
}
