package report

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/advise/history"
	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/study"
)

// ConfirmationFile is the file that makes results a confirmation: it names the two runs
// whose versions were measured again. What came of it is computed from the ledger.
const ConfirmationFile = "confirmation.json"

// confirmationFormat is the version of that file.
const confirmationFormat = 1

// mostConfirmation is what such a file may have, in B.
const mostConfirmation = 64 << 10

// A Confirms says which runs of a history were measured again, interleaved.
type Confirms struct {
	Format    int       `json:"format"`
	Old       time.Time `json:"old"` // when the run began whose version is the base
	New       time.Time `json:"new"`
	OldDir    string    `json:"old_dir"` // as it was given
	NewDir    string    `json:"new_dir"`
	Responses []string  `json:"responses"` // that were asked about
	Detect    float64   `json:"detect"`    // the least relative change that matters
}

// ConfirmedAt is the level of a confirmation, two-sided, shared by all series it asks
// about: so often it finds a change where there is none.
const ConfirmedAt = 0.001

// Write writes the file into the results directory of the confirmation.
func (c Confirms) Write(dir string) error {
	c.Format = confirmationFormat
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, ConfirmationFile), append(text, '\n'), 0o644)
}

// ReadConfirms reads the text of such a file.
func ReadConfirms(text []byte) (Confirms, error) {
	var c Confirms
	if len(text) > mostConfirmation {
		return c, fmt.Errorf("%s: %d B, more than any that edgegauge writes", ConfirmationFile, len(text))
	}
	if err := json.Unmarshal(text, &c); err != nil {
		return c, fmt.Errorf("%s: %w", ConfirmationFile, err)
	}
	if c.Format != confirmationFormat {
		return c, fmt.Errorf("%s: format %d is not %d; install the edgegauge that wrote it", ConfirmationFile, c.Format,
			confirmationFormat)
	}
	if !(c.Detect > 0) || len(c.Responses) == 0 {
		return c, fmt.Errorf("%s: it names no responses or no change that matters", ConfirmationFile)
	}
	return c, nil
}

// A Past is what a history needs of one result.
type Past struct {
	Dir      string
	Study    string
	Began    time.Time
	Asked    map[string]string // settings by name, less those that change how often is measured and not what
	Treated  string            // a digest of every setting of every treatment
	Versions []string          // of the stacks, in words
	Commits  []string          // of the stacks, where they are known
	Figures  []PastFigure
	Failed   string    // why it is left out
	Confirms *Confirms // it is a confirmation, and no run
	Answers  []PastAnswer
	Doubts   []string      // about a confirmation
	Trials   int           // valid ones
	Took     time.Duration // all trials
}

// A PastAnswer is what a confirmation said of a series.
type PastAnswer struct {
	setup string // a digest
	history.Confirmation
}

// A PastFigure is a series' point in one result.
type PastFigure struct {
	Treatment string
	advise.Series
	history.Point
	Why   string // there is no point
	setup string // a digest of its settings, whatever the treatment is called
}

// PastOf takes from a report what a history needs; c is not nil where the results are a confirmation.
func PastOf(r *Report, c *Confirms) Past {
	p := Past{Dir: r.Dir, Study: r.Study.Name, Began: r.Started, Confirms: c}
	for _, t := range r.Trials {
		if t.State == store.Valid {
			p.Trials++
		}
	}
	if len(r.Damage) > 0 {
		p.Failed = strings.Join(r.Damage, "; ")
		return p
	}
	if c != nil {
		p.answer(r)
		return p
	}
	if base, _ := r.Versions(); len(base) > 0 {
		p.Failed = "two versions were measured in its blocks: it is a comparison, and no run of the history"
		return p
	}
	p.asked(r)
	machine := r.machine()
	for i, s := range r.Series() {
		if s.Floor {
			continue
		}
		f := PastFigure{Series: s, Treatment: r.Treatments[r.Cells[i].Treatment].Name()}
		f.Point, f.Why = pointOf(s)
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

// setupDigest is of a treatment's settings; base versions have that of the stack they are of.
func setupDigest(s *study.Setup) string {
	var x study.Setup
	if s != nil {
		x = *s
	}
	for _, name := range []*string{&x.Stack, &x.Client.Stack, &x.Server.Stack} {
		*name, _ = study.IsBase(*name)
	}
	text, err := json.Marshal(x)
	if err != nil { // it is plain data
		text = fmt.Append(nil, err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
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
		case ok && len(x.Checksums) > 0:
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

// pointOf is the mean of the logarithms of the trials, with its standard error.
func pointOf(s advise.Series) (history.Point, string) {
	var logs []float64
	for _, t := range s.Trials {
		if !(t.Mean > 0) || math.IsInf(t.Mean, 0) {
			return history.Point{}, fmt.Sprintf("trial %d gave %v, which has no logarithm", t.ID, t.Mean)
		}
		logs = append(logs, math.Log(t.Mean))
	}
	if len(logs) < 2 {
		return history.Point{}, fmt.Sprintf("%d valid trials show no spread", len(logs))
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

// asked is what was asked, but for what makes figures surer and not different: number of
// trials, seed, precision, confidence, question and notes, and the responses looked at.
func (p *Past) asked(r *Report) {
	y := r.Study
	d := y.Design
	p.Asked = map[string]string{"warm-up": fmt.Sprint(d.WarmUp), "cool-down": fmt.Sprint(d.CoolDown),
		"time": fmt.Sprint(y.Time), "pin": fmt.Sprint(y.Pin), "timeouts": fmt.Sprint(y.Timeouts)}
	for _, x := range y.Fixed {
		p.Asked[x.Key] = x.Value.Text
	}
	for _, f := range y.Factors {
		var levels []string
		for _, l := range f.Levels {
			levels = append(levels, l.Text)
		}
		p.Asked["factor "+f.Name] = strings.Join(levels, ", ")
	}
	var all []string
	for _, t := range r.Treatments {
		all = append(all, t.Name()+" "+setupDigest(t.setup))
	}
	slices.Sort(all)
	sum := sha256.Sum256([]byte(strings.Join(all, "\n")))
	p.Treated = hex.EncodeToString(sum[:])
}

// differs says in what a result asked something else than another; empty: in nothing.
func (p Past) differs(from Past) string {
	var out []string
	keys := map[string]bool{}
	for _, m := range []map[string]string{p.Asked, from.Asked} {
		for k := range m {
			keys[k] = true
		}
	}
	for _, k := range sortedKeys(keys) {
		if a, b := p.Asked[k], from.Asked[k]; a != b {
			out = append(out, fmt.Sprintf("%s: %s, there %s", k, orNone(shorten(a, 60)), orNone(shorten(b, 60))))
		}
	}
	if len(out) == 0 && p.Treated != from.Treated {
		out = append(out, "the settings of its treatments, or their defaults, differ")
	}
	return strings.Join(out, "; ")
}

// answer computes what a confirmation said, series by series, from its ledger.
func (p *Past) answer(r *Report) {
	var terms []advise.Term
	for _, text := range p.Confirms.Responses {
		t, err := advise.ParseTerm(text)
		if err != nil {
			p.Failed = err.Error()
			return
		}
		terms = append(terms, t)
	}
	p.Doubts = r.Doubts()
	old, new := r.Versions()
	wanted := func(all []advise.Series) []advise.Series {
		return slices.DeleteFunc(all, func(s advise.Series) bool {
			return s.Floor || !slices.ContainsFunc(terms, func(t advise.Term) bool { return t.Matches(s) })
		})
	}
	old, new = wanted(old), wanted(new)
	c, err := advise.Compare(old, new, nil, 1-ConfirmedAt/float64(max(1, min(len(old), len(new)))), p.Confirms.Detect)
	if err != nil {
		p.Failed = err.Error()
		return
	}
	setups := map[string]string{} // by the name of a series
	for i, s := range r.Series() {
		if levels, base := versioned(s.Levels); !base {
			s.Levels = levels
			setups[s.Name()] = setupDigest(r.Treatments[r.Cells[i].Treatment].setup)
		}
	}
	for _, x := range c.Contrasts {
		verdict := history.CannotTell
		if x.Doubt == "" || x.Change == advise.Same {
			verdict = history.Decide(x.Ratio, p.Confirms.Detect, x.Allowance, moreIsBetter(x.Response))
		}
		if x.Change == advise.Same {
			verdict = history.NotConfirmed
		}
		p.Answers = append(p.Answers, PastAnswer{setups[x.Treatment], history.Confirmation{Treatment: x.Treatment,
			Side: x.Side, Response: x.Response, Verdict: verdict, Ratio: x.Ratio, Dir: p.Dir,
			Blocks: min(x.Trials[0], x.Trials[1])}})
	}
}

// The orders of a history.
const (
	ByDate    = "date"
	ByCommit  = "commit"
	ByVersion = "version"
)

// A History is one study over its runs.
type History struct {
	Study   string
	By      string
	Runs    []Past // in their order
	Labels  []string
	Series  []history.Judged
	LeftOut []string // results that are not in it, each with the reason
	Confirm []Past   // confirmations of its runs
	Others  []string // other studies among the results
}

// ErrNoHistory says that results make no history.
var ErrNoHistory = errors.New("no history")

// ErrUnreadable says that none of the results can be read.
var ErrUnreadable = errors.New("no history")

// MakeHistory puts results into one history of a study (empty: the only one there is). What asks something else
// than the newest result is left out. The terms say which responses; nil: the first that the study has, rtt if it does.
func MakeHistory(all []Past, studyName, by string, terms []advise.Term) (History, error) {
	h := History{Study: studyName, By: by}
	var runs []Past
	for _, p := range all {
		switch {
		case p.Failed != "":
			h.LeftOut = append(h.LeftOut, p.Dir+": "+p.Failed)
		case p.Confirms != nil:
		default:
			h.Others = addWord(h.Others, p.Study)
			if h.Study == "" || p.Study == h.Study {
				runs = append(runs, p)
			}
		}
	}
	if h.Study == "" && len(h.Others) > 1 {
		return h, fmt.Errorf("%w: the results are of %d studies; choose one with --study: %s", ErrNoHistory, len(h.Others),
			strings.Join(h.Others, ", "))
	}
	if len(h.Others) == 0 && len(h.LeftOut) > 0 {
		return h, fmt.Errorf("%w: no result can be read: %s", ErrUnreadable, strings.Join(h.LeftOut, "; "))
	}
	if len(runs) == 0 {
		return h, fmt.Errorf("%w: no result is of study %q; there are: %s", ErrNoHistory, h.Study,
			orNone(strings.Join(h.Others, ", ")))
	}
	slices.SortStableFunc(runs, func(a, b Past) int { return a.Began.Compare(b.Began) })
	newest := runs[len(runs)-1]
	h.Study = newest.Study
	h.Others = slices.DeleteFunc(h.Others, func(s string) bool { return s == h.Study })
	seen := map[time.Time]string{}
	for _, p := range runs {
		diff := p.differs(newest)
		switch first, twice := seen[p.Began]; {
		case diff != "":
			h.LeftOut = append(h.LeftOut, fmt.Sprintf("%s asks something else than the newest, %s: %s", p.Dir, newest.Dir, diff))
		case twice:
			h.LeftOut = append(h.LeftOut, fmt.Sprintf("%s is the same run as %s", p.Dir, first))
		default:
			seen[p.Began] = p.Dir
			h.Runs = append(h.Runs, p)
		}
	}
	if err := h.label(); err != nil {
		return h, err
	}
	h.collect(terms)
	var confirmations []history.Confirmation
	place := func(began time.Time) int {
		return slices.IndexFunc(h.Runs, func(p Past) bool { return p.Began.Equal(began) })
	}
	for _, p := range all {
		if p.Confirms == nil || p.Failed != "" {
			continue
		}
		old, new := place(p.Confirms.Old), place(p.Confirms.New)
		if old < 0 || new <= old {
			continue
		}
		h.Confirm = append(h.Confirm, p)
		for _, a := range p.Answers {
			for _, f := range newest.Figures {
				if f.setup == a.setup && f.Side == a.Side && f.Response == a.Response {
					a.Old, a.New, a.Treatment = old, new, f.Treatment
					confirmations = append(confirmations, a.Confirmation)
				}
			}
		}
	}
	judged := make([]history.Series, len(h.Series))
	for i, j := range h.Series {
		judged[i] = j.Series
	}
	h.Series = history.Judge(judged, confirmations)
	return h, nil
}

// label names the runs and puts those of one commit or version beside each other, in the
// order in which each was first measured.
func (h *History) label() error {
	of := map[string]func(Past) string{
		ByDate:    func(p Past) string { return p.Began.Local().Format("2006-01-02 15:04") },
		ByCommit:  func(p Past) string { return strings.Join(p.Commits, " ") },
		ByVersion: func(p Past) string { return strings.Join(p.Versions, " ") },
	}[h.By]
	if of == nil {
		return fmt.Errorf("%w: --by %s: write date, commit or version", ErrNoHistory, h.By)
	}
	first := map[string]int{}
	for i, p := range h.Runs {
		l := of(p)
		if l == "" {
			return fmt.Errorf("%w by %s: %s does not say its %[2]s; use --by date. A stack's commit is kept where its folder "+
				"is in a git repository, its version where stack.yaml has one", ErrNoHistory, h.By, p.Dir)
		}
		if _, ok := first[l]; !ok {
			first[l] = i
		}
	}
	if h.By != ByDate {
		slices.SortStableFunc(h.Runs, func(a, b Past) int { return first[of(a)] - first[of(b)] })
	}
	for _, p := range h.Runs {
		h.Labels = append(h.Labels, of(p))
	}
	return nil
}

// collect makes the series of the terms.
func (h *History) collect(terms []advise.Term) {
	newest := h.Runs[len(h.Runs)-1]
	if terms == nil && len(newest.Figures) > 0 {
		t := advise.Term{Response: newest.Figures[0].Response}
		if slices.ContainsFunc(newest.Figures, func(f PastFigure) bool { return f.Response == "rtt" }) {
			t.Response = "rtt"
		}
		terms = []advise.Term{t}
	}
	for _, f := range newest.Figures {
		if !slices.ContainsFunc(terms, func(t advise.Term) bool { return t.Matches(f.Series) }) {
			continue
		}
		s := history.Series{Treatment: f.Treatment, Side: f.Side, Response: f.Response, Unit: f.Unit,
			Higher: moreIsBetter(f.Response)}
		for i, p := range h.Runs {
			for _, x := range p.Figures {
				if x.Treatment != f.Treatment || x.Side != f.Side || x.Response != f.Response {
					continue
				}
				if x.Modelled != f.Modelled {
					x.Why = "one is measured, the other modelled"
				}
				if x.Why != "" {
					h.LeftOut = append(h.LeftOut, fmt.Sprintf("%s has no point of %s %s, %s: %s", p.Dir, x.Treatment, x.Response,
						x.Side, x.Why))
					continue
				}
				x.Point.Run = i
				s.Points = append(s.Points, x.Point)
			}
		}
		if len(s.Points) < 2 {
			s.Why = fmt.Sprintf("%d runs have a figure; a history needs several", len(s.Points))
		}
		h.Series = append(h.Series, history.Judged{Series: s})
	}
}
