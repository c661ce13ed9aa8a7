package report

import (
	"encoding/json"
	"io"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/store"
)

// Whatever stands in the facts of strangers' results: reports are written, and nothing of it is markup on a page.
func FuzzFacts(f *testing.F) {
	dir := fabricated(f, twoStacks, func(map[string]string, int) float64 { return 1e-3 })
	s, err := store.OpenReadOnly(dir)
	if err != nil {
		f.Fatal(err)
	}
	defer s.Close()
	r, err := Read(s)
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(r.RawFacts))
	f.Add([]byte(`{"edgegauge":{"version":"<fuzz-mark>"},"devices":{"<fuzz-mark>":{"Model":"<fuzz-mark>","CPUs":-1,` +
		`"Load":1e308,"Doubts":["<fuzz-mark>"],"Emulation":{"time":"x"}}},"stacks":{"a":{"Language":"Java","Floor":true}},` +
		`"placement":{"":{"Client":[-1],"Server":[9223372036854775807]}},"left_out":["<fuzz-mark>"]}`))
	f.Add([]byte(`{"placement":{"x":{}},"devices":{"":{}},"stacks":{"":{"Checksums":{"":""},"Commit":"+"}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		x := *r
		x.Facts, x.RawFacts, x.Warnings = Facts{}, text, nil
		if json.Unmarshal(text, &x.Facts) != nil {
			return
		}
		var page strings.Builder
		for format, err := range map[string]error{"text": x.Text(io.Discard), "HTML": x.HTML(&page)} {
			if err != nil {
				t.Fatalf("%s: %s: %v", text, format, err)
			}
		}
		if strings.Contains(page.String(), "<fuzz-mark") {
			t.Fatalf("%s is markup on the page", text)
		}
	})
}
