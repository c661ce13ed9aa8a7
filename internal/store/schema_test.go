package store

import (
	"errors"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/study"
)

// A ledger that would keep its reader busy for ever, or run what its maker
// likes, is refused before it is read.
func TestAStrangersLedgerIsRefused(t *testing.T) {
	for name, text := range map[string]string{
		"an endless view":     `ALTER TABLE trials RENAME TO kept; CREATE VIEW trials AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x AS id, x AS position, 1 AS block, 1 AS replication, '{}' AS treatment, 'valid' AS state FROM n`,
		"a view of itself":    `CREATE VIEW v AS SELECT * FROM w; CREATE VIEW w AS SELECT * FROM v`,
		"a trigger":           `CREATE TRIGGER t AFTER INSERT ON meta BEGIN DELETE FROM results; END`,
		"a slow CHECK":        `CREATE TABLE slow (x CHECK (length(hex(zeroblob(100000000))) > 0))`,
		"a generated column":  `ALTER TABLE meta ADD COLUMN g TEXT AS (hex(zeroblob(10000000)))`,
		"an index of results": `CREATE INDEX mine ON results (abs(mean))`,
		"a table gone":        `DROP TABLE quality`,
		"too much of one trial": `WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 10001)
			INSERT INTO quality SELECT 0, 1, 'k' || x, 1.0, 's' FROM n`,
		"too many trials": `WITH RECURSIVE n(x) AS (SELECT 10 UNION ALL SELECT x + 1 FROM n LIMIT 210000)
			INSERT INTO trials SELECT x, x, 1, 1, '{"stack":"a"}', 'valid' FROM n`,
	} {
		t.Run(name, func(t *testing.T) {
			dir := finished(t)
			execSQL(t, dir, text)
			for _, open := range []func() (*Store, error){func() (*Store, error) { return OpenReadOnly(dir) },
				func() (*Store, error) { return Open(dir, header(3)) }} {
				s, err := open()
				if closed(s, err); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "; ") {
					t.Errorf("got %v, want it refused with advice", err)
				}
			}
		})
	}
}

// Ledgers of earlier versions open: of before emulated machines, whose results have one method less, and of before
// results and quality were their own index.
func TestEarlierLedgersOpen(t *testing.T) {
	ofFormat1(t)
	now := schema
	defer func() { schema = now }()
	withRowid := strings.ReplaceAll(now, ", WITHOUT ROWID", "")
	for name, earlier := range map[string]string{
		"with row numbers":         withRowid,
		"before emulated machines": strings.Replace(withRowid, ", 'counted'", "", 1),
	} {
		t.Run(name, func(t *testing.T) {
			schema = earlier
			dir := finished(t)
			schema = now
			s := must[*Store](t)(OpenReadOnly(dir))
			defer s.Close()
			if bad := s.Verify(); bad != nil {
				t.Errorf("verify: %v", bad)
			}
		})
	}
}

// The largest plan of a study has room in a ledger.
func TestALedgerHoldsTheLargestPlan(t *testing.T) {
	if study.MaxTrials > mostTrials {
		t.Errorf("a study has up to %d trials, a ledger %d", study.MaxTrials, mostTrials)
	}
}
