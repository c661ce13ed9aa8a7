package store

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
)

// python is an interpreter with pandas, pyarrow and duckdb. CI must have one.
func python(t *testing.T) string {
	t.Helper()
	py := os.Getenv("EDGEGAUGE_PYTHON")
	if py == "" {
		py = "python3"
	}
	out, err := exec.Command(py, "-c", "import pandas, pyarrow, duckdb").CombinedOutput()
	if err == nil {
		return py
	}
	advice := fmt.Sprintf("%s cannot import pandas, pyarrow and duckdb (%v: %s); python3 -m venv V && V/bin/pip "+
		"install pandas pyarrow duckdb, then EDGEGAUGE_PYTHON=V/bin/python", py, err, strings.TrimSpace(string(out)))
	if os.Getenv("CI") == "true" {
		t.Fatal(advice)
	}
	t.Skip(advice)
	return ""
}

func runIn(t *testing.T, dir, name string, args ...string) []byte {
	t.Helper()
	c := exec.Command(name, args...)
	c.Dir = dir
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return out
}

// pandas, DuckDB and sqlite3 find what was written, in the documented types.
func TestOtherReadersFindTheSame(t *testing.T) {
	py := python(t)
	script := must[string](t)(filepath.Abs("testdata/read.py"))
	s := create(t, 3)
	const n = 5000
	var want struct{ rtt, response, total, failures, unanswered, processing int64 }
	for trial := 1; trial <= 2; trial++ {
		ok(t, write(t, s, trial, n).Commit(results, quality))
		xs := exchanges(n, uint64(trial))
		for i, x := range xs {
			want.total += 2 * int64(x.Total)
			want.processing += int64(served(xs)[i].Processing)
			if x.Done == 0 {
				want.unanswered++
			}
			if x.Failure != "" {
				want.failures++
				continue
			}
			want.rtt += int64(x.RTT())
			want.response += int64(x.Response())
		}
	}
	ok(t, write(t, s, 3, 100).Invalidate("too late", "", nil))
	ok(t, s.Close())

	var got map[string]map[string]any
	ok(t, json.Unmarshal(runIn(t, s.Dir(), py, script), &got))
	sums := map[string]any{"rows": 4. * n, "rtt": float64(want.rtt), "response": float64(want.response),
		"total":    float64(want.total),
		"failures": float64(want.failures), "unanswered": float64(want.unanswered), "processing": float64(want.processing)}
	if !reflect.DeepEqual(got["duckdb"], sums) {
		t.Errorf("DuckDB: got %v, want %v", got["duckdb"], sums)
	}
	maps.Copy(sums, map[string]any{"sides": []any{"client", "server"}, "trials": []any{1., 2.}, "first_due": 0.})
	if !reflect.DeepEqual(got["pandas"], sums) {
		t.Errorf("pandas: got %v, want %v", got["pandas"], sums)
	}
	types := map[string]any{"trial": "int32", "attempt": "int32", "side": "string", "failure": "string"}
	for _, c := range []string{"seq", "due_ns", "sent_ns", "done_ns", "serialization_ns", "processing_ns",
		"deserialization_ns", "connection_ns", "sensor_ns", "total_ns", "out_B", "in_B"} {
		types[c] = "int64"
	}
	if !reflect.DeepEqual(got["types"], types) {
		t.Errorf("types: got %v, want %v", got["types"], types)
	}
	meta := map[string]any{"edgegauge.format": "1", "edgegauge.kind": "exchanges", "edgegauge.trial": "1",
		"edgegauge.attempt": "1", "edgegauge.side": "client"}
	if !reflect.DeepEqual(got["metadata"], meta) {
		t.Errorf("metadata: got %v, want %v", got["metadata"], meta)
	}
	value := 2 * (1.5*n + n*(n-1)/2)
	power, energy := []any{"rapl", "measured", "power", "W"}, []any{"rapl", "measured", "energy", "J"}
	if want := map[string]any{"rows": 2. * n, "value": value, "at": (n - 1) * 1e6,
		"of": []any{energy, power}}; !reflect.DeepEqual(got["samples"], want) {
		t.Errorf("samples: got %v, want %v", got["samples"], want)
	}
	if want := map[string]any{"rows": 2. * n, "value": value, "at": (n - 1) * 1e6,
		"seqs": 2. * n * 3 / 4}; !reflect.DeepEqual(got["samples_duckdb"], want) {
		t.Errorf("samples by DuckDB: got %v, want %v", got["samples_duckdb"], want)
	}
	rows := []any{}
	for trial := 1.; trial <= 2; trial++ {
		rows = append(rows, []any{trial, "energy", 2., nil}, []any{trial, "rtt", 1.5, 0.25})
	}
	if want := map[string]any{"format": float64(ledgerFormat), "results": rows,
		"stacks": []any{"a", "b", "a"}}; !reflect.DeepEqual(got["ledger"], want) {
		t.Errorf("ledger: got %v, want %v", got["ledger"], want)
	}
}

// doc/formats.md names every column and every table there is.
func TestTheManualNamesAllColumns(t *testing.T) {
	text := string(must[[]byte](t)(os.ReadFile("../../doc/formats.md")))
	names := []string{}
	for _, schema := range []*parquet.Schema{exchangeSchema(keptFields()), parquet.SchemaOf(sampleRow{})} {
		for _, path := range schema.Columns() {
			names = append(names, path...)
		}
	}
	s := create(t, 1)
	rows, err := s.db.Query("SELECT t.name, c.name FROM sqlite_schema t JOIN pragma_table_info(t.name) c WHERE t.type " +
		"= 'table'")
	ok(t, err)
	defer rows.Close()
	for rows.Next() {
		var table, column string
		ok(t, rows.Scan(&table, &column))
		names = append(names, table, column)
	}
	if len(names) < 60 {
		t.Fatalf("only %d names found", len(names))
	}
	for _, name := range names {
		if !strings.Contains(text, "`"+name+"`") {
			t.Errorf("doc/formats.md does not name %q", name)
		}
	}
}
