package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// limits.body holds for what is sent to a service that edgegauge does not start, and for what it answers, also to
// devices: check refuses a longer request, and a longer answer fails.
func TestLimitsBodyAtARunningService(t *testing.T) {
	t.Parallel()
	o := newOwn(t)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = w.Write(append(body, body...))
	}))
	defer s.Close()
	o.write(t, "body.txt", strings.Repeat("x", 100))
	for _, devices := range []string{"requests: 2\n", "devices: 2\nperiod: 100ms\nduration: 300ms\nfailures: 0%\nlateness: 10s\n"} {
		text := "study: s\nserver: {url: \"" + s.URL + "\"}\nrequest: {method: POST, body_file: body.txt}\nretries: 0\n" +
			"design: {replications: 1}\n" + devices
		o.write(t, "s.yaml", text+"limits: {body: 99B}\n")
		for _, verb := range []string{"check", "run"} {
			out, code := o.run(t, verb, "s.yaml")
			if out = strings.Join(strings.Fields(out), " "); code != exitUsage || !strings.Contains(out,
				"the body of the request takes 100 B, above limits.body, 99B; raise limits: {body: …}, or send less") {
				t.Errorf("%s %q: %d, %s", verb, devices, code, out)
			}
		}
		o.write(t, "s.yaml", text+"limits: {body: 199B}\n")
		if out, code := o.run(t, "check", "s.yaml"); code != 0 {
			t.Errorf("check %q: %d, %s", devices, code, out)
		}
		out, code := o.run(t, "run", "s.yaml", "--quiet")
		if code == 0 || !strings.Contains(out, "response: body larger than 199 B (limits.body)") {
			t.Errorf("an answer of 200 B to %q: %d, %s", devices, code, out)
		}
		o.write(t, "s.yaml", text+"limits: {body: 200B}\n")
		if out, code := o.run(t, "run", "s.yaml", "--quiet"); code != 0 {
			t.Errorf("an answer of just limits.body to %q: %d, %s", devices, code, out)
		}
	}
}

// compare --base of a service that edgegauge does not start says what can be done instead.
func TestCompareBaseOfARunningService(t *testing.T) {
	t.Parallel()
	o := newOwn(t)
	s := httptest.NewServer(http.NotFoundHandler())
	defer s.Close()
	o.write(t, "s.yaml", "study: s\nserver: {url: \""+s.URL+"\"}\nrequests: 2\n")
	out, code := o.run(t, "compare", "--base", ".", "--with", "s.yaml", "--detect", "5%")
	out = strings.Join(strings.Fields(out), " ")
	if code != exitUsage || strings.Contains(out, "probe") || !strings.Contains(out, "edgegauge run STUDY --out old") {
		t.Errorf("%d, %s", code, out)
	}
}
