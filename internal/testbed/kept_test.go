package testbed

import (
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/study"
)

// Which overrides were kept is said of the study that is read, and not of the testbed, which may read several at once.
func TestKeptOverridesAreThoseOfOneStudy(t *testing.T) {
	b, text := bed(t), []byte("study: s\nservice: monitor\nstack: rest-json\n")
	mistaken, right := []string{"requests=5", "conection=kept"}, []string{"requests=5"}
	for _, c := range []struct {
		kept, sets []string
		want       string
	}{
		{mistaken, right, "override 2: "},
		{right, mistaken, "--set 2: "},
		{nil, mistaken, "--set 2: "},
	} {
		for name, read := range map[string]func() (study.Plan, []string, error){
			"available": func() (study.Plan, []string, error) {
				return b.ReadAvailable(t.Context(), "s.yaml", text, c.kept, c.sets...)
			},
			"elsewhere": func() (study.Plan, []string, error) {
				return b.ReadElsewhere(t.Context(), "s.yaml", text, c.kept, c.sets...)
			},
		} {
			if _, _, err := read(); err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("%s, %q kept and %q given: got %v, want a fault of %s", name, c.kept, c.sets, err, c.want)
			}
		}
	}
}
