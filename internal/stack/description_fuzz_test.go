package stack

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// A stack.yaml that is taken offers what it says: each combination of its first offer resolves to itself, and one that
// nobody has is refused.
func FuzzDescription(f *testing.F) {
	files, _ := filepath.Glob("../../stacks/*/stack.yaml")
	for _, name := range files {
		if text, err := os.ReadFile(name); err == nil {
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := parseDescription("/somewhere/mine/stack.yaml", text)
		if err != nil {
			return
		}
		if d.Name != "mine" || d.Dir != "/somewhere/mine" {
			t.Fatalf("it calls itself %q, in %q", d.Name, d.Dir)
		}
		d.RunNeeds()
		if _, err := d.Resolve(Wish{Service: "no such \x00 service"}); err == nil {
			t.Fatal("it has what nobody has")
		}
		o := d.Serves[0]
		if o.wantsOptions() {
			return
		}
		w := Wish{o.Services[0], o.Encodings[0], o.Security[0], o.Transports[0], o.Sides[0], o.Connections[0]}
		got, err := d.Resolve(w)
		words := []string{w.Service, w.Encoding, w.Security, w.Transport, w.Side, w.Connection}
		if err != nil || got != w && !slices.Contains(words, "") {
			t.Fatalf("%+v became %+v: %v", w, got, err)
		}
	})
}
