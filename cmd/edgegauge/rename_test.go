package main

import (
	"strings"
	"testing"
)

// The module can be given another path, and then another, by what make rename runs; its imports are found and its rooms
// are in order.
func TestRename(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	c := newClone(t)
	for _, path := range []string{"example.com/lab/edgegauge", "edgegauge.example.org/v", "edgegauge.example.org/v"} {
		c.sh(".ci/rename " + path)
		if got := strings.TrimSpace(c.sh("go list ./internal/service")); got != path+"/internal/service" {
			t.Errorf("got %s", got)
		}
	}
	if left := c.sh(`git grep -nE '"(edgegauge|example\.com/lab/edgegauge)/[a-z/]+"$' -- '*.go' || true`); left != "" {
		t.Errorf("not renamed: %s", left)
	}
	if changed := c.sh(`git diff --name-only | grep -v '\.go$'`); changed != "go.mod\n" {
		t.Errorf("changed: %s", changed)
	}
	c.sh("gofmt -l $(git ls-files '*.go') | (! grep .)")
	// The gate's own test, which takes long, knows no module.
	c.sh("go vet ./internal ./internal/service && " +
		"go test -vet=off -skip '^TestGateCloses$' ./internal ./internal/service")
	for _, bad := range []string{"", "nodot/path", "host.name", "host.name/", "-x.y/z", "a.b/c d"} {
		c.sh("! .ci/rename '" + bad + "' 2>&1 | grep -v usage:")
	}
}
