package store

import (
	"os"
	"strings"

	"edgegauge.example/edgegauge/internal/lazy"
)

// A ledger may come from a stranger. It is opened without trust in its schema
// and with a bound on SQLite's memory, and read only if it has the tables that
// this program makes, none else, and no more rows than a report can take.
const (
	untrusted = "trusted_schema(0)"
	heapLimit = "hard_heap_limit(536870912)" // B

	mostTrials = 200_000
	mostRows   = 20_000_000 // of any table
	mostBytes  = 4 << 30    // of the file
)

// beforeBenches makes the statements of ledgers older than benches: they lack the
// table of benches, two columns of attempts and one of their states.
var beforeBenches = strings.NewReplacer(", 'superseded'", "", " bench TEXT NOT NULL DEFAULT '', boot TEXT NOT NULL "+
	"DEFAULT '',", "")

// checkSchema refuses views, triggers, virtual tables and any table that is not
// as schema.sql makes it: a view may be endless, a CHECK as slow as one likes.
func (s *Store) checkSchema(path string) error {
	if st, err := os.Stat(path); err == nil && st.Size() > mostBytes {
		return fail(ErrCorrupt, "%s: %d MB, larger than any ledger of edgegauge; restore it from a copy", path,
			st.Size()>>20)
	}
	known := map[string]bool{lackingTable: true}
	for _, text := range statements(schema) {
		withRowid := strings.Replace(text, ", WITHOUT ROWID", "", 1) // before results and quality were their own index
		known[text], known[withRowid] = true, true
		known[strings.Replace(withRowid, ", 'counted'", "", 1)] = true // before emulated machines
		known[beforeBenches.Replace(text)] = true
	}
	rows, err := s.db.Query("SELECT name, coalesce(sql, '') FROM sqlite_schema WHERE name NOT LIKE 'sqlite\\_%' " +
		"ESCAPE '\\'")
	if err != nil {
		return err
	}
	defer rows.Close()
	tables, withBench := 0, false
	for rows.Next() {
		var name, text string
		if err := rows.Scan(&name, &text); err != nil {
			return err
		}
		if all := statements(text); len(all) != 1 || !known[all[0]] {
			return fail(ErrCorrupt, "%s: %.40q is not as edgegauge created it; restore it from a copy", path, name)
		}
		if name == "lacking" {
			s.incomplete = true
			continue
		}
		s.benches = s.benches || name == "benches"
		withBench = withBench || name == "attempts" && strings.Contains(text, "bench")
		tables++
	}
	if err := rows.Err(); err != nil {
		return err
	}
	want := len(statements(schema))
	if !withBench {
		want--
	}
	if tables != want || withBench != s.benches {
		return fail(ErrCorrupt, "%s: only %d of %d tables and indexes are there; restore it from a copy", path, tables, want)
	}
	return nil
}

var (
	sqlComment = lazy.Regexp(`--[^\n]*`)
	sqlSpace   = lazy.Regexp(`\s+`)
)

// statements splits SQL, without its comments and its layout.
func statements(text string) []string {
	var all []string
	for part := range strings.SplitSeq(sqlComment().ReplaceAllString(text, ""), ";") {
		if part = strings.TrimSpace(sqlSpace().ReplaceAllString(part, " ")); part != "" {
			all = append(all, part)
		}
	}
	return all
}

// mostOfAnAttempt is for rows of one table: a lab writes hundreds at most.
const mostOfAnAttempt = 10_000

// checkSizes refuses a ledger that would keep a report busy for ever.
func (s *Store) checkSizes(path string) error {
	for _, t := range []struct {
		table string
		most  int64
	}{{"meta", 1000}, {"runs", 100_000}, {"plan", mostTrials}, {"trials", mostTrials}, {"attempts", 10 * mostTrials},
		{"benches", 100_000}, {"lacking", mostTrials}, {"files", mostRows}, {"results", mostRows}, {"quality", mostRows}} {
		if t.table == benchesDir && !s.benches || t.table == "lacking" && !s.incomplete {
			continue
		}
		var n int64
		if err := s.db.QueryRow("SELECT count(*) FROM " + t.table).Scan(&n); err != nil {
			return err
		}
		if n > t.most {
			return fail(ErrCorrupt, "%s: %d rows of %s, but this program reads at most %d; split the study", path, n,
				t.table, t.most)
		}
	}
	for _, table := range []string{"files", "results", "quality"} {
		var n int64
		query := "SELECT coalesce(max(n), 0) FROM (SELECT count(*) AS n FROM " + table + " GROUP BY trial, attempt)"
		if err := s.db.QueryRow(query).Scan(&n); err != nil {
			return err
		}
		if n > mostOfAnAttempt {
			return fail(ErrCorrupt, "%s: %d rows of %s of one trial, but this program reads at most %d; restore it from a copy",
				path, n, table, mostOfAnAttempt)
		}
	}
	return nil
}
