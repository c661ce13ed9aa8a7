package main

import (
	"strings"
	"testing"
)

// Of results that were gone on with, the next commands name the study file of the last run: the first may say less.
func TestNextCommandsNameTheStudyOfTheLastRun(t *testing.T) {
	t.Parallel()
	o := newOwn(t)
	for _, x := range []struct{ replications, file string }{{"1", "old/study.yaml "}, {"2", "old/study-2.yaml "}} {
		o.write(t, "s.yaml", "study: s\nservice: echo\nn: 5\nfactors: {stack: [rest-json, coap-cbor]}\nrequests: 5\n"+
			"design: {replications: "+x.replications+"}\n")
		if out, code := o.run(t, "run", "s.yaml", "--quiet", "--out", "old"); code != exitDone ||
			!strings.Contains(out, "edgegauge run "+x.file) {
			t.Errorf("%s replications: exit code %d: %s", x.replications, code, out)
		}
	}
}
