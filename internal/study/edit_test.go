package study_test

import (
	"bytes"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"edgegauge.example/edgegauge/internal/study"
)

const edited = `# what the lab asks
study: tea   # its name

question: "Is it hot? # no comment"
service: echo
stack: rest-json
factors:
  # from small to large
  size: [100B, 1KB]   # two

  security:
    - none
    - tls
design: {replications: 3, seed: 1} # few
notes: |
  Two lines,
  one text.
requests: 100
# the end
`

// One value changes, and no other byte does.
func TestEditKeepsTheRest(t *testing.T) {
	for _, tt := range []struct {
		path  string
		value string
		old   string
		new   string
	}{
		{"requests", "200", "requests: 100", "requests: 200"},
		{"study", "coffee", "study: tea   # its", "study: coffee   # its"},
		{"question", `"a # b"`, `"Is it hot? # no comment"`, `"a # b"`},
		{"design seed", "77", "seed: 1}", "seed: 77}"},
		{"design replications", "30", "replications: 3,", "replications: 30,"},
		{"design warmup", "2", "seed: 1}", "seed: 1, warmup: 2}"},
		{"factors size", "[1B]", "[100B, 1KB]", "[1B]"},
		{"factors security", "[none, dtls]", "security:\n    - none\n    - tls\n", "security: [none, dtls]\n"},
		{"factors stack", "[a, b]", "    - tls\n", "    - tls\n  stack: [a, b]\n"},
		{"stack", "", "stack: rest-json\n", ""},
		{"retries", "5", "requests: 100\n", "requests: 100\nretries: 5\n"},
		{"timeouts ready", "5s", "# the end\n", "# the end\ntimeouts:\n  ready: 5s\n"},
		{"no such", "", "", ""},
	} {
		got, err := study.Edit([]byte(edited), tt.value, strings.Fields(tt.path)...)
		if want := strings.Replace(edited, tt.old, tt.new, 1); err != nil || string(got) != want {
			t.Errorf("%s: %v: got\n%s", tt.path, err, got)
		}
	}
}

// What cannot be spliced is written anew, comments and order kept.
func TestEditOfWhatSpansLines(t *testing.T) {
	got, err := study.Edit([]byte(edited), `"one line"`, "notes")
	if err != nil || !bytes.Contains(got, []byte("notes: \"one line\"\nrequests: 100")) || bytes.Count(got, []byte("#")) !=
		strings.Count(edited, "#") {
		t.Errorf("%v:\n%s", err, got)
	}
	for _, bad := range []string{"[a", "a\nb", "a: b", "x # comment", "*x", "- a"} {
		if got, err := study.Edit([]byte(edited), bad, "requests"); err == nil {
			t.Errorf("%q was taken:\n%s", bad, got)
		}
	}
	for _, bad := range []string{"", "- a", "a: [", "a: 1\n---\nb: 1", "a: \x00", "factors: 3"} {
		if got, err := study.Edit([]byte(bad), "1", "factors", "x"); err == nil {
			t.Errorf("%q was edited:\n%s", bad, got)
		}
	}
}

func TestScalarIsReadAsWritten(t *testing.T) {
	for _, text := range []string{"100", "1KB", "a: b", "x # y", "Is it hot?", `say "hi"`, "@x", "%", "- x", "è", "{"} {
		var got string
		if err := yaml.Load([]byte(study.Scalar(text)), &got); err != nil || got != text {
			t.Errorf("%q: %s is %q, %v", text, study.Scalar(text), got, err)
		}
	}
	if got := study.Scalar(" [a, b] "); got != "[a, b]" {
		t.Errorf("a list is %s", got)
	}
}

// all is every study that comes with the program.
func all(t testing.TB) map[string][]byte {
	files, err := fs.Glob(os.DirFS("../../studies"), "*.yaml")
	if err != nil || len(files) < 5 {
		t.Fatal(files, err)
	}
	out := map[string][]byte{}
	for _, f := range files {
		if out[f], err = os.ReadFile("../../studies/" + f); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// Of each study each value on one line can be changed and changed back: then it is the same
// text, byte for byte.
func TestEditAndBack(t *testing.T) {
	n := 0
	for name, text := range all(t) {
		var doc yaml.Node
		if err := yaml.Load(text, &doc); err != nil {
			t.Fatal(err)
		}
		m := doc.Content[0]
		for i := 0; i < len(m.Content); i += 2 {
			key, old := m.Content[i].Value, m.Content[i+1]
			if old.Kind != yaml.ScalarNode || strings.ContainsAny(old.Value, "\n:") || old.Style&(yaml.FoldedStyle|
				yaml.LiteralStyle|yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0 {
				continue
			}
			n++
			there, err := study.Edit(text, "zzz", key)
			if err != nil || bytes.Equal(there, text) {
				t.Errorf("%s: %s: %v", name, key, err)
				continue
			}
			if back, err := study.Edit(there, old.Value, key); err != nil || !bytes.Equal(back, text) {
				t.Errorf("%s: %s: %v: changed and changed back it is\n%s", name, key, err, back)
			}
		}
	}
	if n < 40 {
		t.Errorf("%d values were changed", n)
	}
}

// Whatever a text is, an edit of it says what was asked, keeps every other value in its
// order, and every comment but those of what it replaced.
func FuzzEdit(f *testing.F) {
	f.Add([]byte(edited), "1", "requests", "")
	f.Add([]byte(edited), "", "factors", "size")
	f.Add([]byte("a: {b: [1, 2], c: 'x'}\n"), "[3]", "a", "b")
	f.Add([]byte("a: &x {b: *x}\n? c\n: d"), "1", "c", "")
	for _, text := range all(f) {
		f.Add(text, "zzz", "design", "seed")
	}
	f.Fuzz(func(t *testing.T, text []byte, value, key, inner string) {
		path := []string{key}
		if inner != "" {
			path = append(path, inner)
		}
		got, err := study.Edit(text, value, path...)
		if err != nil {
			return
		}
		before, after := keysOf(t, text), keysOf(t, got)
		remove := func(k string) bool { return k == key }
		if !slices.Equal(slices.DeleteFunc(before, remove), slices.DeleteFunc(after, remove)) {
			t.Errorf("%q became %q", text, got)
		}
	})
}

func keysOf(t *testing.T, text []byte) (keys []string) {
	var doc yaml.Node
	if err := yaml.Load(text, &doc); err != nil || len(doc.Content) == 0 {
		t.Fatalf("%q: %v", text, err)
	}
	for i := 0; i < len(doc.Content[0].Content); i += 2 {
		keys = append(keys, doc.Content[0].Content[i].Value)
	}
	return keys
}
