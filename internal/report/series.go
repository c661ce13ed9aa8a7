package report

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/printable"
	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/study"
)

// A Level is a part of the results that has a verdict of its own: treatments that
// differ in what one can choose, and not in what one is given, such as the link.
type Level struct {
	Name   string // "link nb-iot"; empty where there is one
	Series []advise.Series
	// Invalid are the treatments of which no trial is valid, floors aside: there is no series of them.
	Invalid  []string
	Of       int                               // treatments, floors aside
	byMedian func(measure.Side, string) string // why a side's response is shown as a median; empty: it is not
}

// Levels are all of them, in the order of the study.
func (r *Report) Levels() []Level {
	var out []Level
	for _, g := range r.groups() {
		out = append(out, r.level(g.name, func(treatment int) bool { return slices.Contains(g.treatments, treatment) }))
	}
	return out
}

// Whole is everything as one level, across what verdicts keep apart.
func (r *Report) Whole() Level { return r.level("", func(int) bool { return true }) }

func (r *Report) level(name string, wanted func(treatment int) bool) Level {
	var invalid []string
	of := 0
	for i, t := range r.Treatments {
		if !wanted(i) || r.isFloor(t.Stack) {
			continue
		}
		if of++; t.Valid == 0 {
			invalid = append(invalid, t.Name())
		}
	}
	return Level{name, r.series(wanted), invalid, of, func(side measure.Side, response string) string {
		var k ranking
		for i, c := range r.Cells {
			if wanted(c.Treatment) && c.Response == response && c.Side == side && !r.isFloor(r.Treatments[c.Treatment].Stack) {
				k.cells = append(k.cells, &r.Cells[i])
			}
		}
		var err error
		if k.losses, _, err = r.lossesOf(k.cells); err != nil {
			k.losses = nil
		}
		if !byMedians(k.cells, k.losses) {
			return ""
		}
		return k.medianWhy()
	}}
}

// Headline is the term with the figure by which the report ranks: the median where
// trials of the level are skewed, of the side that counts.
func (l Level) Headline(t advise.Term) advise.Term {
	if l.medianWhy(t) != "" {
		t.Figure = "median"
	}
	return t
}

// medianWhy says why the report ranks by medians of a term; empty: it does not.
func (l Level) medianWhy(t advise.Term) string {
	for _, side := range advise.Counting(l.Series, t) {
		if why := l.byMedian(side, t.Response); why != "" {
			return why
		}
	}
	return ""
}

// Series are the report's cells in the words of advise.
func (r *Report) Series() []advise.Series { return r.series(func(int) bool { return true }) }

// series are those of the treatments that are wanted.
func (r *Report) series(wanted func(treatment int) bool) []advise.Series {
	var out []advise.Series
	for _, c := range r.Cells {
		if !wanted(c.Treatment) {
			continue
		}
		t := r.Treatments[c.Treatment]
		s := advise.Series{Factors: r.Factors, Levels: t.Levels, Stack: t.Stack, Floor: r.isFloor(t.Stack), Side: c.Side,
			Response: c.Response, Unit: c.Unit, Modelled: c.Method == store.Modelled, Waiting: c.Waiting,
			Failed: stat.Pooled(t.failed).Of(), Requests: stat.Pooled(t.failed).N, Units: c.on != nil, Ticks: c.ticks(),
			Step:     c.step,
			Unseen:   c.Unseen,
			Resends:  t.setup == nil || !t.setup.SentOnce(),
			Unsteady: t.drift > 0 && slices.Contains(timed, c.Response)}
		if x, _ := measure.FindResponse(c.Response); x.Censored() {
			s.Longer = c.lacking
		}
		s.Lost, s.Limit, s.Ended = t.lostOf(c), r.Study.Timeouts.Request.Seconds(), t.endedAttempts()
		for _, p := range c.replicates() {
			s.Trials = append(s.Trials, advise.TrialSummary{ID: p.Trial, Block: p.Block, Mean: p.Mean, Median: p.Median,
				P95: p.P95, SD: p.SD, AllMedian: p.AllMedian, AllP95: p.AllP95, Late: c.lateOf(p), Failed: p.share})
		}
		out = append(out, s)
	}
	return out
}

// Attempts are the report's treatments with their trials, in the words of advise.
func (r *Report) Attempts() []advise.Attempts {
	var out []advise.Attempts
	for i, t := range r.Treatments {
		a := advise.Attempts{Factors: r.Factors, Levels: t.Levels, Name: t.Name(), Floor: r.isFloor(t.Stack),
			Wanted: t.Wanted, Valid: t.Valid, Unrun: t.unrun, Failed: t.failed, Late: t.late,
			Repeated: t.repeated, Recovered: t.recovered, Faults: t.faults}
		for _, c := range r.Cells {
			if c.Treatment == i {
				a.Waiting = max(a.Waiting, c.Waiting)
			}
		}
		out = append(out, a)
	}
	return out
}

// Doubts are all that a reader must bear in mind before deciding by the
// figures: starvation first, then failed checks, then every warning once.
func (r *Report) Doubts() []string {
	out := append(slices.Clone(r.starvedWords()), r.Alarms...)
	if r.OfBenches() {
		out = append(out, "intervals are for benches like these: a bench counts once, and where more trials are asked "+
			"for, benches are meant")
	}
	for _, w := range r.warnings() {
		if !slices.ContainsFunc(out, func(said string) bool { return w == said || strings.HasPrefix(w, said+" (") }) {
			out = append(out, w)
		}
	}
	return out
}

// Interleave says how to measure two versions again, in blocks that have both. It ends with a command, behind a colon,
// that works as it stands, but for what is written in capitals.
func Interleave(old, new *Report) string {
	keys := changed(old, new)
	maps.DeleteFunc(keys, func(k string, _ [2]string) bool { return k == "design.replications" })
	switch {
	case old.Study.OfVersions() || new.Study.OfVersions():
		return "measure both versions once more in one study, on a quieter machine: " + new.VersionsAgain(new.Dir)
	case len(keys) == 1:
		for _, key := range sortedKeys(keys) {
			v := keys[key]
			if v[0] != "" && v[1] != "" && strings.HasPrefix(key, "options.") {
				return fmt.Sprintf("measure both in one study, in randomized blocks: edgegauge run %s --set %s --out both && "+
					"edgegauge report both", new.StudyIn(new.Dir, key), Quoted(fmt.Sprintf("factors.%s=[%s, %s]", key,
					old.inYAML(key, v[0]), new.inYAML(key, v[1]))))
			}
		}
	case len(keys) == 0 && new.asksServices():
		return startBoth + ", and measure both in one study, in randomized blocks (with one version at a time, run both " +
			"again on a quieter machine): " + new.asking().ofBoth(new.Dir)
	case len(keys) == 0:
		return fmt.Sprintf("measure both versions in one study, in randomized blocks (with one build only, run both again "+
			"on a quieter machine): edgegauge compare --base REVISION --with %s --detect 5%%", new.StudyIn(new.Dir))
	}
	return fmt.Sprintf("the set-ups differ; run both again, one right after the other, on a quieter machine: "+
		"edgegauge run %s --out old-again && edgegauge run %s --out new-again && edgegauge compare old-again new-again",
		old.StudyIn(old.Dir), new.StudyIn(new.Dir))
}

// inYAML is the value of a setting as a list in YAML has it. What --set gave is YAML already.
func (r *Report) inYAML(key, value string) string {
	for _, s := range r.Study.Fixed {
		if s.Key == key && strings.ContainsFunc(s.Value.Text, func(c rune) bool { return !bare(c) }) {
			return strconv.Quote(s.Value.Text)
		}
	}
	return value
}

// StudyIn is how a command names the study of these results, which lie in dir: its file, and what --set changed,
// but for what the command itself sets, and for the base version of a stack, which no file has.
func (r *Report) StudyIn(dir string, but ...string) string {
	return QuotedPath(filepath.Join(dir, r.studyFile())) + Sets(r.setsBut(but...))
}

func (r *Report) studyFile() string { return cmp.Or(r.StudyFile, "study.yaml") }

func (r *Report) setsBut(but ...string) []string {
	var sets []string
	for _, o := range r.Study.Overrides {
		sets = append(sets, o.String())
	}
	return slices.DeleteFunc(study.WithoutBase(sets), func(set string) bool {
		path, _, _ := strings.Cut(set, "=")
		return slices.Contains(but, path)
	})
}

// Sets are overrides as words of a command, a space before each; empty: there are none.
func Sets(overrides []string) (words string) {
	for _, set := range overrides {
		words += " --set " + Quoted(set)
	}
	return words
}

// Quoted is a word as a shell reads it.
func Quoted(word string) string { return printable.Quoted(word) }

// QuotedPath is a file or folder as a shell and a command read it, which takes it for no flag.
func QuotedPath(path string) string { return printable.QuotedPath(path) }

// bare reports whether a character means itself to a shell and in YAML.
func bare(c rune) bool {
	return c == '/' || c == '.' || c == '-' || c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' ||
		c >= 'A' && c <= 'Z'
}

// SetupDifferences says in what two results differ besides their figures.
func SetupDifferences(old, new *Report) []string {
	var out []string
	add := func(what, a, b string) {
		if a != b {
			out = append(out, fmt.Sprintf("%s: %s before, %s now", what, orNone(a), orNone(b)))
		}
	}
	add("study", old.Study.Name, new.Study.Name)
	keys := changed(old, new)
	for _, k := range sortedKeys(keys) {
		add(k, keys[k][0], keys[k][1])
	}
	for _, k := range sortedKeys(old.besideSettings()) {
		add(k, old.besideSettings()[k], new.besideSettings()[k])
	}
	if odd := otherwiseSet(old, new, keys); len(odd) > 0 {
		out = append(out, "the settings of "+list(odd, mostNames)+", or their defaults, differ")
	}
	if text := frameDifference(old, new); text != "" {
		out = append(out, text)
	}
	devices := map[string]bool{}
	for _, r := range []*Report{old, new} {
		for name := range r.Facts.Devices {
			devices[name] = true
		}
	}
	for _, name := range sortedKeys(devices) {
		add("device "+name, old.deviceWords(name), new.deviceWords(name))
		a, inOld := old.Facts.Devices[name]
		if b, inNew := new.Facts.Devices[name]; inOld && inNew {
			add("device "+name+", system", a.OS, b.OS)
			add("device "+name+", architecture", a.Arch, b.Arch)
			add("device "+name+", CPUs", fmt.Sprint(a.CPUs), fmt.Sprint(b.CPUs))
		}
	}
	for _, name := range sortedKeys(old.Runtimes) {
		if both, ok := new.Runtimes[name]; ok {
			add("runtime of "+name, strings.Join(old.Runtimes[name], ", "), strings.Join(both, ", "))
		}
	}
	return slices.Compact(out)
}

// besideSettings are what a study says of all its trials, beside its settings, and what changes its figures.
func (r *Report) besideSettings() map[string]string {
	y := r.Study
	return map[string]string{"warm-up": fmt.Sprint(y.Design.WarmUp), "cool-down": study.DurationText(y.Design.CoolDown),
		"spread": study.DurationText(y.Design.Spread),
		"time":   fmt.Sprint(y.Time), "failures": mayFail(y),
		"pin": fmt.Sprintf("client on %s, server on %s", cpus(y.Pin.Client), cpus(y.Pin.Server)),
		"timeouts": fmt.Sprintf("ready %s, request %s, trial %s", study.DurationText(y.Timeouts.Ready),
			study.DurationText(y.Timeouts.Request), study.DurationText(y.Timeouts.Trial))}
}

// mayFail is the share of requests that a study lets fail; empty: it does not say.
func mayFail(y study.Study) string {
	if y.Failures == nil {
		return ""
	}
	return fmt.Sprintf("%.6g %%", 100**y.Failures)
}

// otherwiseSet names the treatments whose settings differ where no setting of the study says so: a level has the same
// name and sets something else, or a default has changed.
func otherwiseSet(old, new *Report, keys map[string][2]string) (odd []string) {
	for _, r := range []*Report{old, new} {
		for _, s := range r.Study.Fixed {
			if _, ok := keys[s.Key]; ok {
				return nil
			}
		}
	}
	was := map[string]*study.Setup{}
	for _, t := range old.Treatments {
		was[t.Name()] = t.setup
	}
	for _, t := range new.Treatments {
		if s, ok := was[t.Name()]; ok && s != nil && t.setup != nil && setupDigest(s) != setupDigest(t.setup) {
			odd = append(odd, t.Name())
		}
	}
	return odd
}

// deviceWords are a device's model and kernel; empty: there is no such device.
func (r *Report) deviceWords(name string) string {
	d, ok := r.Facts.Devices[name]
	if !ok {
		return ""
	}
	return strings.TrimSuffix(d.Model+", "+d.Kernel, ", ")
}

// changed are the settings that differ, each before and now.
func changed(old, new *Report) map[string][2]string {
	keys := map[string][2]string{}
	for i, r := range []*Report{old, new} {
		for _, s := range r.Study.Fixed {
			k := keys[s.Key]
			k[i] = s.Value.Text
			keys[s.Key] = k
		}
		for _, o := range r.Study.Overrides {
			k := keys[o.Path]
			k[i] = o.Value
			keys[o.Path] = k
		}
	}
	maps.DeleteFunc(keys, func(k string, v [2]string) bool {
		// what only one --set names is in the other's file, too: besideSettings says what of it changes figures
		return v[0] == v[1] || ofTrials(k) && (v[0] == "" || v[1] == "")
	})
	maps.DeleteFunc(keys, func(k string, v [2]string) bool { // part of a setting whose difference is said as a whole
		whole, _, part := strings.Cut(k, ".")
		_, said := keys[whole]
		return part && said && (v[0] == "" || v[1] == "")
	})
	return keys
}

// ofTrials reports whether an override is of how trials are made and counted, and no setting of a treatment.
func ofTrials(key string) bool {
	root, _, _ := strings.Cut(key, ".")
	return slices.Contains([]string{"design", "failures", "pin", "question", "responses", "retries", "time", "timeouts"},
		root)
}

func orNone(s string) string {
	if s == "" {
		return "not set"
	}
	return s
}
