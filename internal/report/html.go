package report

import (
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/plural"
	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/study"
)

//go:embed page/page.html
var pageHTML string

//go:embed page/parts.html
var partsHTML string

//go:embed page/style.css
var pageCSS string

//go:embed page/explore.js
var pageJS string

//go:embed page/sort.js
var sortJS string

// The page's chart library; page/vendor has its licences.
var (
	//go:embed page/vendor/d3.min.js
	d3JS string
	//go:embed page/vendor/plot.umd.min.js
	plotJS string
)

// Made when first needed: an agent on a small device needs none.
var page = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page").Funcs(template.FuncMap{
		"courseParts": func() int { return courseParts },
		"percent":     percentOf,
	}).Parse(pageHTML + partsHTML + analysisHTML))
})

// HTML writes one page that needs nothing else: no network, and no script to be
// read; with scripts, its figures can also be explored.
func (r *Report) HTML(w io.Writer) error {
	v, err := r.view()
	if err != nil {
		return err
	}
	return page().Execute(w, v)
}

// Parts writes what HTML writes between the page's head and its scripts, byte for
// byte, to stand in another page that brings Assets.
func (r *Report) Parts(w io.Writer) error {
	v, err := r.view()
	if err != nil {
		return err
	}
	return page().ExecuteTemplate(w, "parts", v)
}

// Assets are the style and the scripts of the page, by name. Scripts are in the
// order in which they are to be read.
func Assets() (style string, scripts []Script) {
	return pageCSS, []Script{{"d3.min.js", d3JS}, {"plot.umd.min.js", plotJS}, {"explore.js", pageJS}, {"sort.js", sortJS}}
}

// A Script is one of the page's.
type Script struct{ Name, Text string }

// view is what the page shows, in words and drawings.
type view struct {
	Name, Question, Notes string
	Answer                []verdictLine
	Warnings              []string
	Scope                 string
	Conditions            []string
	Fronts                []template.HTML
	Confidence            float64
	Style                 template.CSS
	Data                  template.JS
	Scripts               []template.JS
	Traces                []traceView
	AnyPublished          bool // a figure shows a published value
	AnyFloor              bool // a figure shows a floor
	Raw                   bool // the requests and the readings are there, not their figures alone
	Sections              []section
	Factors               []string
	Plan                  []planRow
	Design                [][2]string
	Devices, Stacks       [][]string
	Program               string
	Facts                 string
	Dir                   string
	Judgement             judgement
	Next                  []Step
	Predicted             [][]string // below its head
	PredictedHead         []string
	PredictedSays         []string
	Benches               []flatTable
}

type section struct {
	ID, Title, Says string
	Panels          []panelView
}

type traceView struct {
	Title, Says string
	Figure      template.HTML
}

type panelView struct {
	ID, Side, ByMedian           string
	Figure, Distribution, Course template.HTML
	Floors, Modelled             bool
	Rows                         []tableRow
	Notes                        []string
}

type tableRow struct {
	Name                                              string
	Mean, CI, SD, Median, MedianCI, P95, Floor, Notes string
	Trials                                            int
	IsFloor                                           bool
}

type planRow struct {
	Trial, Block     int
	Treatment, Bench string
	State            store.State
	Attempts         int
	Reason           string
}

func (r *Report) view() (view, error) {
	v := view{
		Name: r.Study.Name, Question: r.Study.Question, Notes: strings.TrimSpace(r.Study.Notes), Answer: r.answer(),
		Warnings: append(r.damage(), r.Warnings...),
		Scope:    r.scope(), Conditions: r.conditions(), Confidence: r.Study.Design.Confidence, Style: template.CSS(pageCSS),
		Factors: r.Factors,
		Program: r.Facts.Edgegauge["version"], Facts: string(r.RawFacts), Dir: r.Dir,
		Next:      r.Next,
		Predicted: r.predictedRows(), PredictedHead: predictedHead, PredictedSays: append(r.predictedOf(), r.Unpredicted...),
		Benches: r.benchTables(),
	}
	for _, p := range r.paretos() {
		v.Fronts = append(v.Fronts, element(p))
	}
	for _, p := range r.Panels() {
		x, err := r.panelView(p)
		if err != nil {
			return v, err
		}
		if n := len(v.Sections); n == 0 || v.Sections[n-1].ID != p.Response {
			says := ""
			if m, ok := measure.FindResponse(p.Response); ok {
				says = m.Says
			}
			v.Sections = append(v.Sections, section{ID: p.Response, Title: capital(words(p.Response)), Says: says})
		}
		s := &v.Sections[len(v.Sections)-1]
		s.Panels = append(s.Panels, x)
	}
	for _, t := range r.Trials {
		row := planRow{Trial: t.ID, Block: t.Block, State: t.State, Attempts: t.Attempts, Reason: t.Reason}
		if r.Benches != nil {
			row.Bench = r.Benches.of[t.ID]
		}
		for _, l := range t.Treatment {
			row.Treatment = strings.TrimSpace(row.Treatment + " " + l.Text)
		}
		v.Plan = append(v.Plan, row)
	}
	v.Judgement = r.judgement()
	for _, x := range r.firstTraces() {
		v.Traces = append(v.Traces, traceView{Title: x.Name(r), Says: x.describe(r), Figure: element(x.Picture(r))})
	}
	var err error
	if v.Data, err = r.pageData(); err != nil {
		return v, err
	}
	_, scripts := Assets()
	for _, s := range scripts {
		v.Scripts = append(v.Scripts, template.JS(s.Text))
	}
	v.AnyPublished = slices.ContainsFunc(r.Cells, func(c Cell) bool { return c.Published != nil })
	v.AnyFloor = slices.ContainsFunc(r.Cells, func(c Cell) bool { return c.HasFloor })
	v.Raw = !slices.Contains(r.LeftOut, "exchanges") && !slices.Contains(r.LeftOut, "samples")
	v.Design = r.design()
	v.Devices, v.Stacks = r.facts()
	return v, nil
}

// scope says how much was measured, and how sure the intervals are.
func (r *Report) scope() string {
	valid, wanted := 0, 0
	for _, t := range r.Treatments {
		valid, wanted = valid+t.Valid, wanted+t.Wanted
	}
	return fmt.Sprintf("%s, %d of %s valid%s, %s intervals from trials%s%s",
		plural.Count(len(r.Treatments), "treatment"),
		valid, plural.Count(wanted, "trial"), r.within(), percentOf(r.Study.Design.Confidence), r.onBenches(), r.time()) +
		r.thatTime()
}

// within says in how much time all trials ran, since intervals hold for that time: hours later other figures may be
// found. Of less than a minute nobody thinks otherwise.
func (r *Report) within() string {
	if r.Within < time.Minute {
		return ""
	}
	return " within " + spanText(r.Within)
}

// thatTime says that a clock's intervals speak of the time in which trials ran: of runs repeated hours later, 24 to
// 91 % of single figures lay within them (doc/findings).
func (r *Report) thatTime() string {
	if r.within() == "" || r.Within > 12*time.Hour || r.Benches != nil || r.time() != "" {
		return ""
	}
	return "; they cover only what varied within that time"
}

// spanText is a time that need not be exact.
func spanText(d time.Duration) string {
	unit := time.Second
	if d >= time.Hour {
		unit = time.Minute
	}
	return study.DurationText(d.Round(unit))
}

// time says what time is, where it is no clock's.
func (r *Report) time() string {
	if r.Study.Time != study.Instructions {
		return ""
	}
	var units []string
	for _, name := range sortedKeys(r.Facts.Devices) {
		units = append(units, r.Facts.Devices[name].Emulation["time"])
	}
	return "; all times are " + strings.Join(units, "; ")
}

func (r *Report) panelView(p Panel) (panelView, error) {
	v := panelView{ID: p.ID(), Side: string(p.Side), ByMedian: r.byMedian(p.Side, p.Response),
		Figure: element(r.Chart(p).Picture())}
	if pic, ok := r.distributions(p); ok {
		v.Distribution = element(pic)
	}
	if pic, ok := r.courses(p); ok {
		v.Course = element(pic)
	}
	var notes noteList
	for i, t := range r.Treatments {
		c, ok := r.Cell(i, p.Side, p.Response)
		if !ok {
			continue
		}
		row := tableRow{
			Name: t.Name(), Mean: Format(c.Mean.Center, c.Unit), CI: range2(c.Mean, c.Unit), SD: Format(c.SD, c.Unit),
			Median: Format(c.Median.Center, c.Unit), MedianCI: range2(c.Median, c.Unit), P95: Format(c.P95, c.Unit),
			Trials: len(c.Points), IsFloor: r.isFloor(t.Stack),
		}
		if c.modelled() {
			row.Mean += " (modelled)"
			v.Modelled = true
		}
		if c.HasFloor {
			row.Floor = significant(c.AboveFloor.Estimate) + "×"
			v.Floors = true
		} else if c.noFloor != "" {
			row.Floor = "–"
		}
		for _, w := range c.Warnings {
			if row.Notes != "" {
				row.Notes += ","
			}
			row.Notes += notes.mark(w, t.Name())
		}
		v.Rows = append(v.Rows, row)
	}
	v.Notes = notes.lines()
	return v, nil
}

// element is a picture as it stands in a page.
func element(p Picture) template.HTML {
	var b strings.Builder
	_ = p.SVG(&b) // a Builder takes everything
	return template.HTML(b.String())
}

// capital writes a title's first letter large.
func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// modelled says that a cell's figures are computed, not read from a meter.
func (c *Cell) modelled() bool { return c.Method == store.Modelled }

func range2(s stat.Summary, unit string) string {
	switch {
	case !s.HasInterval():
		return "–"
	case s.Lo == s.Hi && !slices.ContainsFunc(s.Warnings, func(w error) bool { return errors.Is(w, stat.ErrTies) }):
		return "no spread"
	}
	return span(s, unit)
}

// A noteList numbers the warnings of a table, each once, with whom it concerns.
type noteList struct {
	texts []string
	whom  [][]string
}

const noteMarks = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

func (n *noteList) mark(text, whom string) string {
	i := slices.Index(n.texts, text)
	if i < 0 {
		i = len(n.texts)
		n.texts, n.whom = append(n.texts, text), append(n.whom, nil)
	}
	n.whom[i] = append(n.whom[i], whom)
	return noteMark(i)
}

// noteMark is a letter, or two where there are more notes than letters.
func noteMark(i int) string {
	if n := len(noteMarks); i >= n {
		return noteMark(i/n-1) + noteMark(i%n)
	}
	return noteMarks[i : i+1]
}

func (n *noteList) lines() []string {
	var out []string
	for i, t := range n.texts {
		out = append(out, fmt.Sprintf("%s  %s: %s", noteMark(i), strings.Join(n.whom[i], ", "), t))
	}
	return out
}

// design is the plan in words.
func (r *Report) design() [][2]string {
	d := r.Study.Design
	out := [][2]string{
		{"order", "randomized complete blocks, one block per replication"},
		{"seed", fmt.Sprint(d.Seed)},
		{"replications asked", fmt.Sprint(d.Replications)},
	}
	if d.Precision > 0 {
		out = append(out, [2]string{"precision asked", significant(d.Precision*100) + " % of each figure"})
	}
	for _, s := range r.Study.Fixed {
		out = append(out, [2]string{s.Key, s.Value.Text})
	}
	for _, o := range r.Study.Overrides {
		out = append(out, [2]string{"set on the command line", o.String()})
	}
	return out
}

func (r *Report) facts() (devices, stacks [][]string) {
	for _, name := range sortedKeys(r.Facts.Devices) {
		d := r.Facts.Devices[name]
		devices = append(devices, []string{name, d.Model, fmt.Sprint(d.CPUs), d.Arch, d.OS, d.Kernel})
	}
	for _, name := range sortedKeys(r.Facts.Stacks) {
		s := r.Facts.Stacks[name]
		stacks = append(stacks, []string{name, s.Title, s.Version, s.Language, strings.Join(r.Runtimes[name], "; ")})
	}
	return devices, stacks
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
