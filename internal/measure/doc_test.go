package measure

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write doc/responses.md")

const (
	responsesPage = "../../doc/responses.md"
	tableHead     = "| response | unit | side | from | what it is |\n|---|---|---|---|---|\n"
)

// The page lists the response variables as the code has them.
func TestResponsesAreDocumented(t *testing.T) {
	var b strings.Builder
	b.WriteString(tableHead)
	for _, r := range Responses() {
		var sides []string
		for _, s := range r.Sides {
			sides = append(sides, string(s))
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", r.Name, r.Unit, strings.Join(sides, ", "), source(r), r.Says)
	}
	text, err := os.ReadFile(responsesPage)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), tableHead)
	_, after, ok2 := strings.Cut(rest, "\n\n")
	if !ok || !ok2 {
		t.Fatalf("%s has no table", responsesPage)
	}
	want := before + b.String() + "\n" + after
	if *update {
		if err := os.WriteFile(responsesPage, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(text) != want {
		t.Errorf("%s differs from the code; run go test ./internal/measure -update", responsesPage)
	}
}

// source says where a response comes from.
func source(r Response) string {
	switch {
	case r.Packets:
		return "packets"
	case strings.HasPrefix(r.Name, "energy"), r.Name == "trial_energy", r.Name == "power":
		return "meter"
	case r.Name == "cpu", r.Name == "peak_rss":
		return "kernel"
	case r.Name == "instructions":
		return "emulator"
	}
	return "stack"
}
