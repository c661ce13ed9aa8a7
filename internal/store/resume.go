package store

import (
	"bytes"
	"cmp"
	"database/sql"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"edgegauge.example/edgegauge/internal/printable"
)

// resume makes an existing directory ready for header h.
func (s *Store) resume(h Header) error {
	if err := checkTrials(h); err != nil {
		return err
	}
	if leftOut, err := s.LeftOut(); err != nil || len(leftOut) > 0 {
		return cmp.Or(err, fail(ErrChanged, "%s: a copy without raw files, which cannot be continued; run into a new "+
			"directory", s.dir))
	}
	if err := few(s.checkLedgerRows, s.checkRuns); err != nil { // before they say what was measured
		return err
	}
	asksMore, err := s.compareStudy(h)
	if err != nil {
		return err
	}
	if err := s.completePlanFile(); err != nil {
		return err
	}
	if err := few(s.checkRaw, s.checkSearch); err != nil {
		return err
	}
	if err := s.settleInterrupted(); err != nil {
		return err
	}
	if err := s.goOn(asksMore); err != nil {
		return err
	}
	if err := s.extendPlan(h); err != nil {
		return err
	}
	r, err := newRun(0, h)
	if err != nil {
		return err
	}
	if e, err := s.Ending(); err != nil || e != nil { // nothing is left: who only looks leaves no facts of his own
		s.waiting = &r
		return err
	}
	return s.recordRun(r)
}

// mayGrow are the settings that only add trials, blocks or words. That the plan so far stays
// as it was, extendPlan sees to: a search for a capacity adds rates as it goes.
var mayGrow = []string{"factors.rate", "design.replications", "design.precision", "design.budget", "retries",
	"question", "notes"}

func grows(key string) bool {
	return slices.ContainsFunc(mayGrow, func(p string) bool { return key == p || strings.HasPrefix(key, p+".") })
}

// compareStudy refuses to resume another study, naming what changed, and says whether it may ask
// for more than before. Comments, order and layout of the file may change.
func (s *Store) compareStudy(h Header) (asksMore bool, err error) {
	was, is, err := s.bothSettings(h)
	if err != nil {
		return false, err
	}
	if err := s.named(was, is); err != nil {
		return false, err
	}
	var changed []string
	for _, key := range slices.Sorted(maps.Keys(union(was, is))) {
		switch {
		case was[key] == is[key]:
		case grows(key):
			asksMore = true
		default:
			changed = append(changed, fmt.Sprintf("%s was %s, is %s", key, orAbsent(was[key]), orAbsent(is[key])))
		}
	}
	if len(changed) == 0 {
		return asksMore, nil
	}
	return false, fail(ErrChanged,
		"%s: started with a different study: %s; change it back, or run into a new directory", s.dir,
		strings.Join(changed, "; "))
}

// Named refuses results of a study that has another name, whatever else differs.
func (s *Store) Named(h Header) error {
	was, is, err := s.bothSettings(h)
	if err != nil {
		return err
	}
	return s.named(was, is)
}

func (s *Store) named(was, is map[string]string) error {
	if was["study"] == is["study"] {
		return nil
	}
	return fail(ErrChanged, "%s: results of another study, %s, not of %s; run into another directory", s.dir,
		orAbsent(was["study"]), orAbsent(is["study"]))
}

// bothSettings are the settings of the study that the results are of, and those of h.
func (s *Store) bothSettings(h Header) (was, is map[string]string, err error) {
	old, overrides, err := s.Study()
	if err != nil {
		return nil, nil, err
	}
	old = []byte(printable.Redact(string(old))) // as results are kept now
	for i := range overrides {
		overrides[i] = printable.Redact(overrides[i])
	}
	return settings(old, overrides), settings(h.Study, h.Overrides), nil
}

// extendPlan adds the blocks that the plan of h has and the recorded one has
// not. A shorter plan is fine too: adaptive stopping added blocks before.
func (s *Store) extendPlan(h Header) error {
	old, err := s.plan()
	if err != nil {
		return err
	}
	old = []byte(printable.Redact(string(old)))
	if bytes.HasPrefix(old, h.Plan) {
		return nil
	}
	tail, ok := bytes.CutPrefix(h.Plan, old)
	if !ok { // perhaps only since an earlier version wrote levels as they are
		old = asCells(old)
		if bytes.HasPrefix(old, h.Plan) {
			return nil
		}
		tail, ok = bytes.CutPrefix(h.Plan, old)
	}
	if !ok {
		line, was, is := firstDifference(old, h.Plan)
		return fail(ErrChanged,
			"%s: started with a different plan: line %d was %q, but is %q; restore the study's seed and factors, or run into "+
				"a new directory", s.dir, line, was, is)
	}
	return s.AddTrials(tail, h.Trials[len(h.Trials)-bytes.Count(tail, []byte("\n")):])
}

// asCells is a plan with what begins like a formula as study.Plan.WriteCSV has it; what is no CSV stays.
func asCells(plan []byte) []byte {
	rows, err := csv.NewReader(bytes.NewReader(plan)).ReadAll()
	if err != nil {
		return plan
	}
	for _, row := range rows {
		printable.Row(row)
	}
	var b bytes.Buffer
	if err := csv.NewWriter(&b).WriteAll(rows); err != nil {
		return plan
	}
	return b.Bytes()
}

func firstDifference(a, b []byte) (line int, was, is string) {
	x, y := strings.Split(string(a), "\n"), strings.Split(string(b), "\n")
	for i := 0; ; i++ {
		if i >= len(x) || i >= len(y) || x[i] != y[i] {
			return i + 1, at(x, i), at(y, i)
		}
	}
}

func at(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return ""
}

// settings flattens a study into path → value, overrides applied. A study that
// is not YAML (the study room refuses it earlier) is one setting.
func settings(text []byte, overrides []string) map[string]string {
	flat := map[string]string{}
	var doc any
	if err := yaml.Unmarshal(text, &doc); err != nil {
		flat[studyFile] = string(text)
	} else {
		flatten(flat, "", doc)
	}
	for _, o := range overrides {
		path, value, _ := strings.Cut(o, "=")
		for key := range flat { // an override replaces all that was below its path
			if strings.HasPrefix(key, path+".") {
				delete(flat, key)
			}
		}
		var v any
		if err := yaml.Unmarshal([]byte(value), &v); err != nil {
			v = value
		}
		flatten(flat, path, v)
	}
	return flat
}

func flatten(flat map[string]string, path string, v any) {
	m, ok := v.(map[string]any)
	if !ok {
		b, err := json.Marshal(v)
		if err != nil { // maps with keys that are not text, within lists
			b = fmt.Append(nil, v)
		}
		flat[path] = string(b)
		return
	}
	for key, value := range m {
		flatten(flat, strings.TrimPrefix(path+"."+key, "."), value)
	}
}

func union(a, b map[string]string) map[string]string {
	u := maps.Clone(a)
	maps.Copy(u, b)
	return u
}

func orAbsent(v string) string {
	if v == "" {
		return "absent"
	}
	return v
}

// settleInterrupted records attempts that a killed lab left running, sets their
// whole files aside in invalid/ and removes their partial ones.
func (s *Store) settleInterrupted() error {
	for _, kind := range kinds {
		if err := s.clean(kind); err != nil {
			return err
		}
	}
	own := "state = 'running'"
	if s.benches {
		own += " AND bench = ''" // what benches have in hand goes on without us: see Withdraw
	}
	return s.change(func(tx *sql.Tx) error {
		if _, err := tx.Exec(`UPDATE attempts SET state = 'interrupted', ended = ?, reason = 'the lab ended in mid-trial' `+
			`WHERE `+own, now()); err != nil {
			return err
		}
		_, err := tx.Exec(`UPDATE trials SET state = 'planned' WHERE state = 'running'
			AND id NOT IN (SELECT trial FROM attempts WHERE state = 'running')`)
		return err
	})
}

// clean removes partial files of a kind and sets aside whole ones that the
// ledger does not know. Files whose names are not ours stay.
func (s *Store) clean(kind string) error {
	entries, err := os.ReadDir(s.path(kind))
	if err != nil {
		return err
	}
	known, err := s.names("SELECT path FROM files")
	if err != nil {
		return err
	}
	moved := false
	for _, e := range entries {
		whole, partial := strings.CutSuffix(e.Name(), partialSuffix)
		path := filepath.Join(kind, e.Name())
		switch {
		case !ourName().MatchString(whole) || known[path]:
		case partial:
			err = os.Remove(s.path(path))
		default:
			err = os.Rename(s.path(path), s.path(asideName(kind, e.Name())))
			moved = true
		}
		if err != nil {
			return err
		}
	}
	if !moved {
		return nil
	}
	if err := syncDir(s.path(invalidDir)); err != nil {
		return err
	}
	return syncDir(s.path(kind))
}
