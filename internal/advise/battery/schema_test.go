package battery

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"

	"edgegauge.example/edgegauge/batteries"
	"edgegauge.example/edgegauge/radios"
)

// The schema takes the files that come with the program, and refuses what Read refuses.
func TestSchema(t *testing.T) {
	for kind, files := range map[Kind]fs.FS{Radio: radios.Files, Battery: batteries.Files} {
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema(kind)))
		if err != nil {
			t.Fatal(err)
		}
		c := jsonschema.NewCompiler()
		if err := c.AddResource("x.json", doc); err != nil {
			t.Fatal(err)
		}
		s, err := c.Compile("x.json")
		if err != nil {
			t.Fatal(err)
		}
		valid := func(text string) error {
			var v any
			if err := yaml.Unmarshal([]byte(text), &v); err != nil {
				t.Fatal(err)
			}
			b, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
			if err != nil {
				t.Fatal(err)
			}
			return s.Validate(doc)
		}
		names, _ := fs.Glob(files, "*.yaml")
		for _, n := range names {
			b, err := fs.ReadFile(files, n)
			if err != nil {
				t.Fatal(err)
			}
			text := string(b)
			if err := valid(text); err != nil {
				t.Errorf("%s: %v", n, err)
			}
			for what, bad := range map[string]string{
				"an unknown key": text + "slep: {value: 1W, source: s}\n",
				"no title":       text[strings.Index(text, "\n")+1:],
				"no source":      strings.Replace(text, "source:", "sorce:", 1),
				"a wrong unit":   strings.Replace(strings.Replace(text, "15uW", "15us", 1), "mAh,", "mW,", 1),
			} {
				_, err := Read(kind, "x", []byte(bad))
				if bad != text && (valid(bad) == nil || err == nil) {
					t.Errorf("%s: %s is accepted: %v, %v", n, what, valid(bad), err)
				}
			}
		}
		if len(names) < 4 {
			t.Errorf("%s: found only %v", kind, names)
		}
	}
}
