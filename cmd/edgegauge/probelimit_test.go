package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A body beyond the limit is said in units that people read, with the limit that it is beyond.
func TestBodyBeyondTheLimit(t *testing.T) {
	t.Parallel()
	o := newOwn(t)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(make([]byte, 2<<20)) // as much as is read
	}))
	defer s.Close()
	out, _ := o.run(t, "probe", s.URL, "--requests", "2", "--warmup", "0", "--runs", "1", "--max-body", "1048576")
	if !strings.Contains(out, "response: body larger than 1 MiB (--max-body)") {
		t.Errorf("probe: %s", out)
	}
	o.write(t, "s.yaml", "study: s\nserver: {url: \""+s.URL+"\"}\nrequests: 2\nretries: 0\nlimits: {body: 250kB}\n"+
		"design: {replications: 1}\n")
	out, _ = o.run(t, "run", "s.yaml", "--quiet")
	if !strings.Contains(out, "response: body larger than 250 kB (limits.body)") {
		t.Errorf("run: %s", out)
	}
}
