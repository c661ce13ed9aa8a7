package store

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"edgegauge.example/edgegauge/internal/printable"
)

// Texts of a results directory that came from elsewhere: a treatment is read as it was written, and the settings of a
// study take no more room than its text and overrides explain; a plan is made harmless.
func FuzzTexts(f *testing.F) {
	f.Add(`{"stack":"soap","rate":"10/s"}`, "study: s\nfactors: {stack: [a, b]}\n", "factors.stack=[c]")
	f.Add(`{"a":{"b":1}}`, "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n", "=")
	f.Add(`{"a":"b"`, "? {1: 2}\n: {3: 4}\n", "a.b=&x {y: 1}")
	f.Add("{}a", "", "")
	f.Add("{}", "id,block,replication,note\n1,1,1,=1+1\n2,1,1,\"a,\"\"b\"\"\"\n", "a")
	f.Add("[]", "a: !!binary x\n<<: {b: 1}\n", "a")
	f.Fuzz(func(t *testing.T, treatment, study, override string) {
		if levels, err := decodeTreatment(treatment); err == nil {
			text := encodeTreatment(levels)
			again, err := decodeTreatment(text)
			if err != nil || !slices.Equal(again, levels) {
				t.Fatalf("%q: %v became %v: %v", treatment, levels, again, err)
			}
			if rest := strings.TrimSpace(treatment); utf8.ValidString(rest) && !json.Valid([]byte(rest)) {
				t.Fatalf("%q is no JSON, and was read as %v", treatment, levels)
			}
		}
		all := 0
		for path, value := range settings([]byte(study), []string{override}) {
			all += len(path) + len(value)
		}
		rows, _ := csv.NewReader(bytes.NewReader(asCells([]byte(study)))).ReadAll()
		for _, cell := range slices.Concat(rows...) {
			if printable.Cell(cell) != cell {
				t.Fatalf("%q has a cell %q", study, cell)
			}
		}
		if most := 1<<20 + 1000*(len(study)+len(override)); all > most {
			t.Fatalf("settings of %d B, of %d B", all, len(study)+len(override))
		}
	})
}
