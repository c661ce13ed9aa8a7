package kernel

import (
	"slices"
	"strings"
	"testing"
)

// A stack learns where things are, and no secret of who runs the lab.
func TestProgramsInheritAShortList(t *testing.T) {
	for _, set := range []string{"API_TOKEN=secret", "https_proxy=http://x", "SSH_AUTH_SOCK=/x", "PATHS=/x",
		"JAVA8_HOME=/jdk8", "TMPDIR=/t", "LC_ALL=C"} {
		name, value, _ := strings.Cut(set, "=")
		t.Setenv(name, value)
	}
	got := Environment()
	for _, want := range []string{"JAVA8_HOME=/jdk8", "TMPDIR=/t", "LC_ALL=C"} {
		if !slices.Contains(got, want) {
			t.Errorf("%s is not inherited", want)
		}
	}
	for _, entry := range got {
		name, _, _ := strings.Cut(entry, "=")
		if slices.Contains([]string{"API_TOKEN", "https_proxy", "SSH_AUTH_SOCK", "PATHS"}, name) {
			t.Errorf("%s is inherited", name)
		}
	}
}
