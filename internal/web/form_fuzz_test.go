package web

import (
	"net/url"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// What a form changes in a study's text leaves what was YAML YAML, and a form that changes nothing leaves the text.
func FuzzForm(f *testing.F) {
	const text = "study: s\nservice: monitor # a word\nclient: {device: local}\ndesign:\n  replications: 3\n"
	f.Add(text, "design.replications", "3", "5", "requests", "10")
	f.Add(text, "client.device", "local", "x: y\nz", "", "")
	f.Add("a: &a [1]\nb: *a\n", "b", "", "[[[", "a.b.c", "- 1")
	f.Add("- x\n", "", "", "", "x", "\x00")
	f.Fuzz(func(t *testing.T, text, path, was, set, add, value string) {
		form := url.Values{"path": {path}, "was." + path: {was}, "set." + path: {set}, "add": {add}, "value": {value}}
		got, _, err := applied(text, form)
		if (err != nil || was == set && (add == "" || value == "")) && got != text {
			t.Fatalf("%q became %q: %v", text, got, err)
		}
		var before, after any
		if err == nil && got != text && yaml.Unmarshal([]byte(text), &before) == nil && before != nil &&
			!strings.ContainsRune(text, 0xfeff) {
			if err := yaml.Unmarshal([]byte(got), &after); err != nil {
				t.Fatalf("%q became %q: %v", text, got, err)
			}
		}
		keysOf(text, path)
	})
}
