package study

import (
	"bytes"
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"
)

func schema(t testing.TB) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("urn:edgegauge:study:1", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("urn:edgegauge:study:1")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// asJSON is what an editor checks: the YAML as JSON.
func asJSON(t testing.TB, data []byte) any {
	t.Helper()
	var v any
	if err := yaml.Load(data, &v); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// Every file that Parse takes, the schema takes: those of the tests and those
// that the program comes with.
func TestSchemaTakesGoodFiles(t *testing.T) {
	s := schema(t)
	for _, file := range slices.Concat(glob(t, "testdata/good/*.yaml"), studies()) {
		if err := s.Validate(asJSON(t, read(t, file))); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
	durations := "study: a\nservice: sort\nstack: soap\nn: 1\ntimeouts: {request: .5s}\ndesign: {spread: 5\u03bcs}\n"
	if _, err := Parse("test.yaml", []byte(durations), vocabulary()); err != nil {
		t.Errorf("durations as Go reads them: %v", err)
	}
	for _, text := range []string{durations, overridden, "study: a\nservice: sort\nrate: 10/s\nstack: soap\nn: 1\n",
		"study: a\nservice: sort\nrate: 1e3/s\nstack: soap\nn: 1\n"} {
		if err := s.Validate(asJSON(t, []byte(text))); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// What a schema can see, it sees too.
func TestSchemaRefusesBadFiles(t *testing.T) {
	s := schema(t)
	for _, name := range []string{"budget"} {
		// Left to Parse: a schema cannot say it.
		if err := s.Validate(asJSON(t, read(t, "testdata/bad/"+name+".yaml"))); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"unknown-keys-only", "types-and-units", "levels", "link", "newer-format", "no-name",
		"more-units"} {
		if err := s.Validate(asJSON(t, read(t, "testdata/bad/"+name+".yaml"))); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
}

// An editor completes exactly the keys that Parse knows.
func TestSchemaAndParserKnowTheSameKeys(t *testing.T) {
	var doc struct {
		Properties map[string]struct{ Properties map[string]any }
		Defs       map[string]json.RawMessage `json:"$defs"`
	}
	if err := json.Unmarshal(Schema, &doc); err != nil {
		t.Fatal(err)
	}
	same := func(what string, got []string, want ...string) {
		t.Helper()
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: the schema has %q, the parser %q", what, got, want)
		}
	}
	def := func(name string) map[string]any {
		var d struct {
			Properties map[string]any
			AnyOf      []struct{ Properties map[string]any }
		}
		if err := json.Unmarshal(doc.Defs[name], &d); err != nil {
			t.Fatal(err)
		}
		if d.Properties != nil {
			return d.Properties
		}
		return d.AnyOf[1].Properties
	}
	all := slices.Concat(settingNames(), groups)
	same("top", keysOf(doc.Properties), knownKeys()...)
	same("factors", keysOf(doc.Properties["factors"].Properties), all...)
	same("a compound level", keysOf(def("compound")), append(slices.Clone(all), "name")...)
	same("design", keysOf(doc.Properties["design"].Properties), keyNames(designKeys)...)
	same("timeouts", keysOf(doc.Properties["timeouts"].Properties), keyNames(timeoutKeys)...)
	same("limits", keysOf(doc.Properties["limits"].Properties), keyNames(limitKeys)...)
	same("pin", keysOf(doc.Properties["pin"].Properties), keyNames(pinKeys)...)
	same("a shape", keysOf(def("shape")), linkKeys...)
	same("a link", keysOf(def("link")), append(slices.Clone(linkKeys), "name", "profile", "shaper", "up", "down")...)
	same("a side", keysOf(def("side")), "device", "meter", "stack")
	same("a request", keysOf(def("request")), requestKeyNames()...)
	var inside []string
	for _, of := range []string{"design", "timeouts", "limits", "pin"} {
		for name := range doc.Properties[of].Properties {
			inside = append(inside, of+"."+name)
		}
	}
	for _, of := range []string{"link", "request"} {
		for name := range def(of) {
			inside = append(inside, of+"."+name)
		}
	}
	top := slices.DeleteFunc(keysOf(doc.Properties), func(name string) bool {
		return isSetting(name)
	})
	same("keys that are no settings", append(top, inside...), Keys()...)
}

func keysOf[V any](m map[string]V) []string { return slices.Collect(maps.Keys(m)) }

// studies are the files that stand in this repository's studies folder.
func studies() []string {
	files, _ := filepath.Glob("../../studies/*.yaml")
	return files
}
