package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A flag that means nothing without another is refused where it is given alone, before anything is done. Such flags
// say so to their command, or in the first words of their help.
func TestFlagsThatNeedOthersAreRefusedAlone(t *testing.T) {
	t.Chdir(t.TempDir())
	seen := map[string]bool{}
	eachCommand(newRoot(), func(c *cobra.Command) {
		verb := verbOf(c)
		c.Flags().VisitAll(func(f *pflag.Flag) {
			for _, other := range f.Annotations[needed] {
				if c.Flags().Lookup(other) == nil {
					t.Errorf("edgegauge %s --%s needs --%s, which there is not", verb, f.Name, other)
				}
			}
			if len(f.Annotations[needed]) == 0 && !strings.HasPrefix(f.Usage, "with --") {
				return
			}
			name := verb + " --" + f.Name
			seen[name] = true
			value := f.DefValue
			if value == "" || value == "[]" {
				value = "x"
			}
			args := append(strings.Fields(verb), "x", "--"+f.Name+"="+value)
			_, code, err := inProcess(t.Context(), args...)
			said := ""
			if err != nil {
				said = strings.TrimPrefix(err.Error(), "edgegauge "+strings.Join(args, " "))
			}
			if code != exitUsage || !strings.Contains(said, "--"+f.Name) {
				t.Errorf("%q: exit code %d, %q, want a refusal of --%s", args, code, said, f.Name)
			}
		})
	})
	for _, name := range []string{"run --lease", "web --studies", "forecast --set", "forecast --each", "probe --strict",
		"probe --seed", "compare --from", "devices calibrate --rounds", "devices calibrate --label", "publish --except",
		"capacity --most"} {
		if !seen[name] {
			t.Errorf("edgegauge %s is not refused alone", name)
		}
	}
}
