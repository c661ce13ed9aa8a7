package report

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/study"
)

// Facts are the parts of facts.json that a report reads.
type Facts struct {
	Edgegauge map[string]string `json:"edgegauge"` // of this program: version, sha256 and the like
	// Devices is what is known of each, by its name.
	Devices map[string]struct {
		Model, Kernel, OS, Arch string
		CPUs                    int
		Load                    float64 // when the run began
		Doubts                  []string
		Emulation               map[string]string
		Agent                   any // the program that was sent there; nil: it is the lab's machine, or emulated
	} `json:"devices"`
	Stacks map[string]StackFacts `json:"stacks"` // by name
	// Placement says on which CPUs a treatment's programs ran, by the setting; nil:
	// results of a version that did not place them.
	Placement map[string]study.Pin `json:"placement"`
	Models    map[string]struct {
		BusyWPerCore float64
	} `json:"power_models"`
	Links map[string]struct { // by the study's text for it
		Shaper   string
		Up, Down struct {
			DelayStdDev time.Duration
			Loss        float64
		}
	} `json:"links"`
	LeftOut []string `json:"left_out"` // what the study wanted and the machine could not do, with the reason
}

// StackFacts are a stack's.
type StackFacts struct {
	Title, Version, Language string
	Transports               []string
	Floor                    *bool // nil: results of a version that did not say
	Checksums                map[string]string
	Commit                   string // of the git repository its folder is in; with a + if files of it differ
}

// complete says whether its checksums are of all that it consists of.
func (f StackFacts) complete() bool {
	return len(f.Checksums) > 0 && f.Checksums[stack.CommandLines] == ""
}

func (r *Report) readFacts(s *store.Store) error {
	runs, err := s.Runs()
	if err != nil {
		return err
	}
	r.Started, r.StudyFile = runs[0].Started, runs[len(runs)-1].StudyFile
	last, earlier, err := runsThatMeasured(s, runs)
	if err != nil {
		return err
	}
	began, ended, err := s.Span()
	if err != nil {
		return err
	}
	r.Within = ended.Sub(began)
	if r.RawFacts, err = s.Facts(last); err != nil {
		return err
	}
	if err := json.Unmarshal(r.RawFacts, &r.Facts); err != nil {
		return fmt.Errorf("%s: facts.json: %w", s.Dir(), err)
	}
	for _, run := range earlier {
		if err := r.addDoubts(s, run); err != nil {
			return err
		}
	}
	return nil
}

// runsThatMeasured finds the last run in which a trial began, and those before it, the last first. Earlier versions
// recorded runs that found nothing left to measure, too: how busy the machine was then is no caveat. Where only benches
// measured it is the last of all.
func runsThatMeasured(s *store.Store, runs []store.Run) (last store.Run, earlier []store.Run, err error) {
	of, err := s.RunOf(runs)
	began := make([]bool, len(runs))
	for _, i := range of {
		began[i] = true
	}
	last = runs[len(runs)-1]
	for i := len(runs) - 1; i >= 0; i-- {
		switch {
		case began[i] && !slices.Contains(began[i+1:], true):
			last = runs[i]
		case began[i]:
			earlier = append(earlier, runs[i])
		}
	}
	return last, earlier, err
}

// addDoubts adds what an earlier run found doubtful about a device, where later ones found nothing of that kind.
func (r *Report) addDoubts(s *store.Store, run store.Run) error {
	text, err := s.Facts(run)
	if err != nil {
		return err
	}
	var was Facts
	if err := json.Unmarshal(text, &was); err != nil {
		return fmt.Errorf("%s: %s: %w", s.Dir(), run.FactsFile, err)
	}
	kind := func(doubt string) string { return aNumber().ReplaceAllString(doubt, "#") }
	for name, d := range r.Facts.Devices {
		for _, doubt := range was.Devices[name].Doubts {
			if !slices.ContainsFunc(d.Doubts, func(x string) bool { return kind(x) == kind(doubt) }) {
				d.Doubts = append(d.Doubts, doubt)
			}
		}
		r.Facts.Devices[name] = d
	}
	return nil
}
