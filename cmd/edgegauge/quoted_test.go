package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/lab/fabricated"
)

// Commands that messages propose can be pasted, whatever the names in them are.
func TestProposedCommandsAreQuoted(t *testing.T) {
	t.Parallel()
	o := newOwn(t)
	o.write(t, "my study.yaml", one)
	o.write(t, "hopeless.yaml", "study: s\nservice: monitor\nstack: phantom\noptions: {processing: 600ms}\nrequests: 1\n"+
		"retries: 0\ntimeouts: {request: 300ms}\ndesign: {replications: 1, warmup: 0}\n")
	kept, plan, err := fabricated.Create(filepath.Join(o.dir, "half done"), fabricated.Study(2, 4, 20))
	ok(t, err)
	ok(t, fabricated.Trial(kept, plan.Trials[0], 20, nil))
	ok(t, kept.Close())
	ok(t, os.MkdirAll(filepath.Join(o.dir, "my stacks/theirs"), 0o755))
	o.write(t, "my stacks/theirs/stack.yaml", "title: theirs\n")
	for _, x := range []struct {
		args []string
		want string
	}{
		{[]string{"rnu", "my study.yaml"}, "did you mean edgegauge run 'my study.yaml'?"},
		{[]string{"measure", "my study.yaml"}, "did you mean edgegauge run 'my study.yaml'?"},
		{[]string{"my study.yaml"}, "did you mean edgegauge run 'my study.yaml'?"},
		{[]string{"report", "my study.yaml"}, "measure it first: edgegauge run 'my study.yaml'"},
		{[]string{"compare", "a b.json", "a b.json"}, "edgegauge probe URL --json > 'a b.json' makes one"},
		{[]string{"analyze", "half done", "--response", "y", "--by", "a"}, "edgegauge report 'half done' shows"},
		{[]string{"publish", "half done"},
			"finish it first: edgegauge run 'half done/study.yaml' --out 'half done'"},
		{[]string{"man", "my man"}, "mkdir -p 'my man'"},
		{[]string{"stacks", "check", "my stacks/theirs"}, "edgegauge stacks check theirs --stacks '" + o.dir + "/my stacks'"},
		{[]string{"stacks", "build", "my stacks/theirs"}, "edgegauge stacks build theirs --stacks '" + o.dir + "/my stacks'"},
		{[]string{"run", "hopeless.yaml", "--quiet", "--out", "a b"}, "run again with --set retries=1 --out 'a b'"},
		{[]string{"stacks", "new", "mine", "--lang", "python", "--in", "new stacks"}, "--stacks 'new stacks'"},
	} {
		if out, _ := o.run(t, x.args...); !strings.Contains(out, x.want) {
			t.Errorf("%q: got %q, want %q", x.args, out, x.want)
		}
	}
}
