package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Where --out is a symbolic link that leads nowhere, or to itself, or lies behind one, a command says so at once, with
// exit code 2, and leaves the link where it is.
func TestOutAtADanglingLink(t *testing.T) {
	t.Parallel()
	o := newOwn(t)
	o.write(t, "s.yaml", "study: s\nstack: reference/rest-json\nservice: monitor\nrequests: 2\n"+
		"design: {replications: 1}\n")
	if out, code := o.run(t, "run", "s.yaml", "--out", "ok"); code != 0 {
		t.Fatal(out)
	}
	for to, link := range map[string]string{"nowhere/deep": "away", "self": "self"} {
		if err := os.Symlink(to, filepath.Join(o.dir, link)); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"run", "s.yaml", "--out", link}, {"run", "s.yaml", "--out", link + "/x"},
			{"report", "ok", "--out", link}, {"compare", "ok", "ok", "--junit", link}} {
			out, code := o.run(t, args...)
			if out = strings.Join(strings.Fields(out), " "); code != exitUsage ||
				!strings.Contains(out, link+" is a symbolic link to "+to+", where no") {
				t.Errorf("%q: %d, %s", args, code, out)
			}
			if now, err := os.Readlink(filepath.Join(o.dir, link)); err != nil || now != to {
				t.Errorf("%q: the link leads to %q now: %v", args, now, err)
			}
		}
	}
}
