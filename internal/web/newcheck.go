package web

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"edgegauge.example/edgegauge/internal/report"
	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/study"
)

// An answer is whether a study can run.
type answer struct {
	Looked     bool // at this machine, too
	Why        string
	Faults     []faultRow
	More       int // faults
	Ready      bool
	Treatments int
	Trials     int
	Time       []string // what is foreseen of it
	Notes      []string
	Foreign    []string
	Seen       string
	Beside     []string
}

type faultRow struct {
	Line, Col int
	Text      string
	Here      bool
}

// ask is the answer to "can this run?": what edgegauge check says, of a text. Without look
// only the text is judged. While a study runs no meter is opened and no link made.
func (s *Server) ask(ctx context.Context, text string, look bool) (a answer) {
	a.Beside = s.besides()
	switch {
	case look && s.Control == nil: // whoever reaches this page has shown no token
		a.Why = "What this machine lacks has not been looked for: this page only reads. edgegauge check does."
	case look && len(a.Beside) > 0:
		a.Why = "What this machine lacks has not been looked for, since that would disturb the study that runs now."
	default:
		a.Looked = look
	}
	var p study.Plan
	var left []string
	var err error
	if a.Looked {
		p, left, err = s.Bed.ReadAvailable(ctx, textName, []byte(text), nil)
	} else {
		p, err = s.Bed.Read(ctx, textName, []byte(text))
	}
	if err == nil && a.Looked {
		if found := s.Bed.ObstaclesAlone(ctx, p); found != nil {
			err = found
		}
	}
	var all study.Errors
	if errors.As(err, &all) {
		first := all[:min(len(all), study.MostShown)]
		a.More = len(all) - len(first)
		for _, e := range first {
			a.Faults = append(a.Faults, faultOf(*e))
		}
		return a
	}
	if err != nil {
		a.Faults = []faultRow{{Text: err.Error()}}
		return a
	}
	a.Ready, a.Treatments, a.Trials, a.Notes = true, p.Study.Treatments(), len(p.Trials), left
	a.Time = s.foreseen(p)
	for _, w := range p.Study.Passwords {
		a.Notes = append(a.Notes, fmt.Sprintf("Line %d has a password, which is not kept with results; write "+
			"password=env:VARIABLE.", w.Pos.Line))
	}
	for _, e := range s.Bed.Foreign(p) {
		a.Foreign = append(a.Foreign, strings.ReplaceAll(e.Error(), textName+":", "line "))
	}
	a.Seen = digest(a.Foreign)
	return a
}

// besides names the studies that run now, where pages may start one.
func (s *Server) besides() []string {
	if s.Control == nil {
		return nil
	}
	return s.beside("")
}

func faultOf(e study.Error) faultRow {
	text := e.What
	if e.Advice != "" {
		text += "; " + e.Advice
	}
	return faultRow{e.Pos.Line, e.Pos.Col, text, e.Here}
}

// foreseen is what a plan costs: what its settings alone come to, and what the last
// results of that name took for a trial.
func (s *Server) foreseen(p study.Plan) []string {
	var least time.Duration
	waves := wavesOf(p)
	for _, w := range waves {
		least += w + p.Study.Design.CoolDown
	}
	least = max(least, p.Study.Design.Spread)
	var out []string
	if least > 0 {
		out = append(out, "at least "+study.DurationText(least.Round(time.Second))+" by its settings alone: requests and "+
			"pauses")
	}
	for _, f := range s.results() {
		if f.Study != p.Study.Name || f.Valid == 0 {
			continue
		}
		if pace := paceOf(f.place); pace > 0 {
			all := max((pace+p.Study.Design.CoolDown)*time.Duration(len(waves)), p.Study.Design.Spread)
			out = append(out, fmt.Sprintf("about %s if its trials take as long as those in %s: %s each",
				study.DurationText(all.Round(time.Second)), f.Shown(), report.Format(pace.Seconds(), "s")))
			if size := f.size() / int64(f.Valid); size > 0 {
				out = append(out, fmt.Sprintf("about %s of disk, %s each", report.Format(float64(size)*float64(len(p.Trials)), "B"),
					report.Format(float64(size), "B")))
			}
			break
		}
	}
	if d := p.Study.Design; d.Precision > 0 {
		out = append(out, "more blocks until the precision is reached, or the budget is spent")
	}
	return out
}

// wavesOf is the least that each group of trials takes by its settings, without the pause after
// it: a trial alone, or those of a block that run at the same time.
func wavesOf(p study.Plan) []time.Duration {
	type group struct{ block, atOnce int }
	groups := map[group][]time.Duration{}
	for _, t := range p.Trials {
		g := group{t.Block, max(1, t.Setup.AtOnce)}
		groups[g] = append(groups[g], leastOf(*t.Setup, p.Study.Design))
	}
	var all []time.Duration
	for g, runs := range groups {
		for wave := range slices.Chunk(runs, g.atOnce) {
			all = append(all, slices.Max(wave))
		}
	}
	return all
}

// leastOf is the least that a trial takes by its settings.
func leastOf(x study.Setup, d study.Design) time.Duration {
	at := func(requests int) time.Duration {
		if x.Rate <= 0 {
			return 0
		}
		return time.Duration(float64(requests) / x.Rate * float64(time.Second))
	}
	return max(x.Duration, x.MinDuration, at(x.Requests)) + max(d.WarmUp.Time, at(d.WarmUp.Requests))
}

// mostSized is how many files of results are added up.
const mostSized = 100_000

// size is what the files of results take, in B; 0: not known.
func (p place) size() int64 {
	var sum int64
	n := 0
	err := fs.WalkDir(p.folder.root.FS(), p.dir, func(_ string, e fs.DirEntry, err error) error {
		if n++; n > mostSized {
			err = errors.New("too many files")
		}
		if err != nil {
			return err
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			sum += info.Size()
		}
		return nil
	})
	if err != nil {
		return 0
	}
	return sum
}

// paceOf is how long a trial of some results took, invalid attempts among them; 0: not known.
func paceOf(p place) time.Duration {
	kept, err := p.store(false)
	if err != nil {
		return 0
	}
	defer kept.Close()
	attempts, err := kept.Attempts(0)
	if err != nil {
		return 0
	}
	var all time.Duration
	n := 0
	for _, a := range attempts {
		if !a.Ended.IsZero() && a.State != store.Interrupted { // of those nobody knows when they ended
			all += a.Ended.Sub(a.Began)
			n++
		}
	}
	return all / time.Duration(max(1, n))
}
