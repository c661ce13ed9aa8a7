package capacity

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"edgegauge.example/edgegauge/internal/drive"
	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/printable"
	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/study"
)

// NoteFile is the name of a Note in a results directory.
const NoteFile = "capacity-search.json"

// noteFormat is the version of a Note.
const noteFormat = 1

// A Note is what a search leaves in its results directory: by it, the same question
// finds them again.
type Note struct {
	Format   int      `json:"format"`                // 1
	SLO      string   `json:"slo"`                   // as slo.Parse reads it
	Settings []string `json:"settings"`              // of every trial, and the precision
	First    float64  `json:"first_requests_per_s"`  // of the first trial
	Most     float64  `json:"most_requests_per_s"`   // up to which it searches
	Driver   float64  `json:"driver_requests_per_s"` // that the driver itself does; 0: not measured
	Floor    string   `json:"floor"`                 // stack that the driver was measured against
	Ended    bool     `json:"ended"`                 // the search wants no more trials
	// What does not tell two searches apart; notes of earlier versions have neither.
	Budget int    `json:"budget,omitempty"` // trials, at most
	Period string `json:"period,omitempty"` // of a device, as a Duration writes it; empty: not asked
}

// ReadNote reads the note of a results directory.
func ReadNote(dir string) (Note, error) {
	text, err := kernel.ReadFile(filepath.Join(dir, NoteFile), 1<<20)
	if err != nil {
		return Note{}, err
	}
	return parseNote(dir, text)
}

func parseNote(dir string, text []byte) (Note, error) {
	var n Note
	if err := json.Unmarshal(text, &n); err != nil || n.Format != noteFormat {
		return n, fmt.Errorf("%s: %s is not of this program", dir, NoteFile)
	}
	if n.First < 0 || n.Most <= 0 || n.Driver < 0 {
		return n, fmt.Errorf("%s: %s has rates that no search has", dir, NoteFile)
	}
	return n, nil
}

// Flags are those of edgegauge capacity that ask the same, but for the length of a trial and what --set changes.
func (n Note) Flags() []string {
	flags := []string{"--slo", n.SLO}
	for _, s := range n.Settings {
		name, value, _ := strings.Cut(s, " ")
		if (name == "precision" || name == "late") && !strings.Contains(s, "=") { // else it is one of --set
			flags = append(flags, "--"+name, strings.TrimSuffix(value, " %"))
		}
	}
	if period, err := time.ParseDuration(n.Period); err == nil {
		flags = append(flags, "--period", study.DurationText(period))
	}
	if n.Budget > 0 {
		flags = append(flags, "--budget", strconv.Itoa(n.Budget))
	}
	return flags
}

// write keeps the note in a results directory.
func (n Note) write(dir string) error {
	return store.PutBeside(dir, NoteFile, func(w io.Writer) error {
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		return enc.Encode(n)
	})
}

// asks is an error where the note is of another question than that: it says what differs.
func (n Note) asks(dir, objective string, settings []string) error {
	was, is := measured(n.Settings), measured(settings)
	if n.SLO == objective && slices.Equal(was, is) {
		return nil
	}
	there, here := without(was, is), without(is, was)
	if n.SLO != objective {
		there, here = append([]string{n.SLO}, there...), append([]string{objective}, here...)
	}
	says := ""
	if len(there) > 0 {
		says += "that has " + strings.Join(there, ", ") + "; "
	}
	if len(here) > 0 {
		says += "this one has " + strings.Join(here, ", ") + "; "
	}
	if says == "" {
		says = "this one has the same settings in another order; "
	}
	return fmt.Errorf("%s holds another search: %sask the same, or name another directory", dir, says)
}

// measured are the settings that what is measured depends on, without passwords: how often an invalid trial is repeated
// is no such.
func measured(settings []string) []string {
	var all []string
	for _, s := range settings {
		if key, _, _ := strings.Cut(s, "="); strings.TrimSpace(key) != "retries" {
			all = append(all, printable.Redact(s))
		}
	}
	return all
}

// without are those of a that b has not, as often as a has them.
func without(a, b []string) []string {
	b = slices.Clone(b)
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool {
		i := slices.Index(b, s)
		if i >= 0 {
			b = slices.Delete(b, i, i+1)
		}
		return i >= 0
	})
}

// blocksOf are the rates of the trials that a results directory has planned, in requests/s.
func blocksOf(dir string) ([][]float64, error) {
	s, err := store.OpenReadOnly(dir)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	trials, err := s.Trials()
	if err != nil {
		return nil, err
	}
	return ratesOf(dir, trials)
}

func ratesOf(dir string, trials []store.TrialState) ([][]float64, error) {
	var blocks [][]float64
	for _, t := range trials {
		if t.Block < 1 || t.Block > len(trials) { // none is empty
			return nil, fmt.Errorf("%s: trial %d is of block %d", dir, t.ID, t.Block)
		}
		for len(blocks) < t.Block {
			blocks = append(blocks, nil)
		}
		i := slices.IndexFunc(t.Treatment, func(l store.Level) bool { return l.Factor == "rate" })
		if i < 0 {
			return nil, fmt.Errorf("%s: trial %d has no rate", dir, t.ID)
		}
		rate, err := strconv.ParseFloat(strings.TrimSuffix(t.Treatment[i].Text, "/s"), 64)
		if err != nil || !(rate > 0 && rate <= drive.MostRate) {
			return nil, fmt.Errorf("%s: trial %d has the rate %.40q", dir, t.ID, t.Treatment[i].Text)
		}
		blocks[t.Block-1] = append(blocks[t.Block-1], rate)
	}
	return blocks, nil
}
