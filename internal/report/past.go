package report

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/advise/history"
	"edgegauge.example/edgegauge/internal/plural"
	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/study"
)

// A Past is what a history needs of one result.
type Past struct {
	Dir      string
	Study    string
	Began    time.Time
	Asked    map[string]string // settings by name, less those that change how often is measured and not what
	Treated  string            // a digest of every setting of every treatment
	Versions []string          // of the stacks, in words
	Commits  []string          // of the stacks, where they are known
	Place    int               // of its commits in their repository, the oldest first, from 1; 0: not known
	Figures  []PastFigure
	Failed   string    // why it is left out
	Confirms *Confirms // it is a confirmation, and no run
	Answers  []PastAnswer
	Doubts   []string      // about a confirmation
	Trials   int           // valid ones
	Took     time.Duration // all trials
	Time     string        // the response that a report of it ranks times by
	Lacks    string        // which would be this one, had it been measured; empty: it is Time
	Attempts []string      // which of them failed for what the programs did, of each treatment

	asking     *asking           // of a service that edgegauge does not start, in no version
	confidence float64           // of a confirmation's intervals
	requests   []advise.Attempts // of each treatment: how many requests of its trials failed
}

// A PastFigure is a series' point in one result.
type PastFigure struct {
	Treatment string
	advise.Series
	history.Point
	Why   string // there is no point
	setup string // a digest of its settings, whatever the treatment is called

	// ofAll is the point of medians among all requests, or why there is none, for histories in which requests failed.
	ofAll    history.Point
	ofAllWhy string
}

// PastOf takes from a report what a history needs; c is not nil where the results are a confirmation.
func PastOf(r *Report, c *Confirms) Past {
	p := Past{Dir: r.Dir, Study: r.Study.Name, Began: r.Started, Confirms: c, asking: r.asking()}
	for _, t := range r.Trials {
		if t.State == store.Valid {
			p.Trials++
		}
	}
	p.Time, p.Lacks = r.timeAndLack()
	if len(r.Damage) > 0 {
		p.Failed = DamageText(r.Damage)
		return p
	}
	if c != nil {
		p.answer(r, c.JudgedAt(), 1)
		return p
	}
	if base, _ := r.Versions(); len(base) > 0 {
		p.Failed = "two versions were measured in its blocks: it is a comparison, and no run of the history"
		return p
	}
	if valid, wanted := r.unfinished(); wanted > 0 {
		p.Failed = fmt.Sprintf("unfinished, %d of %s valid: no whole run yet", valid, plural.Count(wanted, "trial"))
		return p
	}
	if r.Untold() != nil {
		p.Failed = NoValidTrial
		return p
	}
	for _, t := range r.Treatments {
		if f := t.faults; f.Attempts > 0 {
			p.Attempts = append(p.Attempts, fmt.Sprintf("%s: %d of %s failed for what the programs did; the first: %s", t.Name(),
				f.Attempts, plural.Count(f.Attempts+t.Valid, "attempt"), f.First))
		}
	}
	p.requests = r.Attempts()
	p.asked(r)
	machine := r.machine()
	for i, s := range r.Series() {
		if s.Floor {
			continue
		}
		f := PastFigure{Series: s, Treatment: r.Treatments[r.Cells[i].Treatment].Name()}
		f.Point, f.Why = pointOf(s)
		if of, why := s.OfAll(); why != "" {
			f.ofAllWhy = why
		} else {
			f.ofAll, f.ofAllWhy = pointOf(of)
		}
		setup := r.Treatments[r.Cells[i].Treatment].setup
		f.setup = setupDigest(setup)
		f.Machine = machine
		f.Program = r.program(setup)
		if !r.inside(setup) {
			f.Machine = append(slices.Clone(machine), "edgegauge="+r.Facts.Edgegauge["version"])
		}
		f.Series.Trials = nil
		p.Figures = append(p.Figures, f)
	}
	for _, name := range sortedKeys(r.Facts.Stacks) {
		x := r.Facts.Stacks[name]
		if r.isFloor(name) {
			continue
		}
		version, commit := x.Version, x.Commit
		if strings.HasPrefix(name, insidePrefix) {
			version = r.Facts.Edgegauge["version"]
			if _, after, ok := strings.Cut(version, " "); ok {
				commit = after
			}
		}
		p.Versions, p.Commits = addWord(p.Versions, version), addWord(p.Commits, commit)
	}
	return p
}

// Unstarted says how two versions are measured of a service that edgegauge does not start, so that it cannot confirm a
// suspect; empty: it starts what was measured.
func (p Past) Unstarted() string {
	if p.asking == nil {
		return ""
	}
	return startBoth + ": " + p.asking.ofBoth(p.Dir)
}

// IsCommit says whether a text is the number of a commit, and nothing else.
func IsCommit(text string) bool {
	return len(text) >= 7 && len(text) <= 64 && strings.Trim(text, "0123456789abcdef") == ""
}

// Commit is the one commit of all stacks; empty: they have none, several, or were changed after it. Results may be a
// stranger's: what is no number could be the path of a program, or more than one word to a shell.
func (p Past) Commit() string {
	if len(p.Commits) != 1 || !IsCommit(p.Commits[0]) {
		return ""
	}
	return p.Commits[0]
}

// Interrupted counts the trials that are valid and those that are wanted, where some were never measured, or not to the
// end; 0, 0: none is left.
func (r *Report) Interrupted() (valid, wanted int) {
	left := 0
	for _, t := range r.Treatments {
		valid, wanted, left = valid+t.Valid, wanted+t.Wanted, left+t.unrun
	}
	if left == 0 {
		return 0, 0
	}
	return valid, wanted
}

// unfinished counts the trials that are valid and those that are wanted, while the lab has some left to
// measure, or to find whether the precision asked for is reached; 0, 0: it has none. What it gave up after
// its retries is not left.
func (r *Report) unfinished() (valid, wanted int) {
	if r.ending != nil && !r.ending.At.IsZero() {
		return 0, 0
	}
	left := 0
	for _, t := range r.Trials {
		switch {
		case t.State == store.Lacking || Dropped(r.Study, t):
			continue
		case t.State == store.Valid:
			valid++
		case t.Refused <= r.Study.Retries:
			left++
		}
		wanted++
	}
	if left == 0 && !(r.ending == nil && r.Study.Design.Precision > 0) {
		return 0, 0
	}
	return valid, wanted
}

// insidePrefix begins the names of the stacks inside the binary.
const insidePrefix = "reference/"

func addWord(list []string, word string) []string {
	if word == "" || slices.Contains(list, word) {
		return list
	}
	return append(list, word)
}

// stacksOf are the names of a treatment's stacks.
func stacksOf(s *study.Setup) []string {
	if s == nil {
		return nil
	}
	return []string{s.Client.Stack, s.Server.Stack}
}

// inside: all programs of a treatment are inside edgegauge.
func (r *Report) inside(s *study.Setup) bool {
	return !slices.ContainsFunc(stacksOf(s), func(name string) bool {
		return name != "" && !strings.HasPrefix(name, insidePrefix)
	})
}

// program identifies a treatment's programs by their checksums; empty: they are not known.
func (r *Report) program(s *study.Setup) string {
	h := sha256.New()
	for _, name := range stacksOf(s) {
		x, ok := r.Facts.Stacks[name]
		switch {
		case ok && x.complete():
			for _, file := range sortedKeys(x.Checksums) {
				fmt.Fprintln(h, file, x.Checksums[file])
			}
		case strings.HasPrefix(name, insidePrefix) && r.Facts.Edgegauge["sha256"] != "":
			fmt.Fprintln(h, r.Facts.Edgegauge["sha256"])
		default:
			return ""
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// machine are facts of the devices, "NAME: what=value"; a change of one begins a new level.
func (r *Report) machine() []string {
	var out []string
	for _, name := range sortedKeys(r.Facts.Devices) {
		d := r.Facts.Devices[name]
		for _, x := range [][2]string{{"model", d.Model}, {"kernel", d.Kernel}, {"os", d.OS}, {"arch", d.Arch},
			{"CPUs", fmt.Sprint(d.CPUs)}} {
			out = append(out, name+" "+x[0]+"="+x[1])
		}
		for _, key := range sortedKeys(d.Emulation) {
			out = append(out, name+" "+key+"="+d.Emulation[key])
		}
	}
	for _, name := range sortedKeys(r.Runtimes) {
		if !strings.HasPrefix(name, insidePrefix) && !r.isFloor(name) {
			out = append(out, name+" runtime="+strings.Join(r.Runtimes[name], ", "))
		}
	}
	return out
}

// linear reports whether points of a response are of its values as they are: a share, which may be 0.
func linear(response string) bool { return response == "failed_share" }

// pointOf is the mean of the logarithms of the trials, with its standard error.
func pointOf(s advise.Series) (history.Point, string) {
	of := math.Log
	if linear(s.Response) {
		of = func(v float64) float64 { return v }
	}
	var logs []float64
	if s.Longer > 0 {
		return history.Point{}, fmt.Sprintf("%d of %d trials ended before they had one", s.Longer, s.Longer+len(s.Trials))
	}
	for _, t := range s.Trials {
		if !(t.Mean > 0) && !linear(s.Response) || math.IsInf(t.Mean, 0) {
			return history.Point{}, fmt.Sprintf("trial %d gave %v, which has no logarithm", t.ID, t.Mean)
		}
		logs = append(logs, of(t.Mean))
	}
	if len(logs) < 2 {
		return history.Point{}, plural.Count(len(logs), "valid trial") +
			plural.Verb(len(logs), " shows", " show") + " no spread"
	}
	m, err := stat.Mean(logs, 0.95)
	if err != nil {
		return history.Point{}, err.Error()
	}
	if s.Starved() {
		return history.Point{}, "programs waited for a CPU, so the figure is not of the programs"
	}
	return history.Point{Log: m.Center, SE: stat.SD(logs) / math.Sqrt(float64(len(logs))), Trials: len(logs)}, ""
}
