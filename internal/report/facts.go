package report

import (
	"encoding/json"
	"fmt"

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

func (r *Report) readFacts(s *store.Store) error {
	runs, err := s.Runs()
	if err != nil {
		return err
	}
	r.Started, r.StudyFile = runs[0].Started, runs[len(runs)-1].StudyFile
	if r.RawFacts, err = s.Facts(runs[len(runs)-1]); err != nil {
		return err
	}
	if err := json.Unmarshal(r.RawFacts, &r.Facts); err != nil {
		return fmt.Errorf("%s: facts.json: %w", s.Dir(), err)
	}
	return nil
}
