package lab

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/store"
)

// failing is a trial of 100 requests of which so many fail, and a study that lets a share fail.
func failing(may float64, failed, served int) *evidence {
	t := sound()
	t.failures, t.setup.Requests = &may, 100
	c := &t.sides[atClient]
	c.n, c.failed, c.why = 100, failed, "HTTP status 500"
	t.sides[atServer].n = served
	return t
}

func TestGatesOfFailures(t *testing.T) {
	as := func(*evidence) {}
	for _, tt := range []struct {
		what   string
		r      *evidence
		change func(*evidence)
		want   string
	}{
		{"as many as may", failing(0.2, 20, 100), as, ""},
		{"a share that has no exact number", failing(0.29, 29, 100), as, ""},
		{"another", failing(0.07, 7, 100), as, ""},
		{"one more", failing(0.2, 21, 100), as, "21 of 100 requests failed, more than the 20 % of failures; first failure: " +
			"HTTP status 500; to measure the service as it is, write failures: 40%"},
		{"none may", failing(0, 1, 100), as, "1 of 100 requests failed, more than the 0 % of failures"},
		{"none may, and none does", failing(0, 0, 100), as, ""},
		{"none may, on a link that loses", failing(0, 1, 100), func(r *evidence) { r.lossy = true },
			"more than the 0 % of failures"},
		{"none may, where nobody sends again", failing(0, 1, 100), func(r *evidence) { r.lossyNON(0.05) },
			"more than the 0 % of failures"},
		{"many may, on a link that loses", failing(0.5, 50, 100), func(r *evidence) { r.lossy = true }, ""},
		{"all may, and all do", failing(1, 100, 100), as, ""},
		{"none may, where the server may be overloaded", failing(0, 1, 100),
			func(r *evidence) { r.overload = true }, ""},
		{"a study that does not say", failing(0, 10, 100), func(r *evidence) { r.failures = nil },
			"10 of 100 requests failed; first failure: HTTP status 500; to measure the service as it is, write failures: 20%"},
		{"failures of which the server knows nothing", failing(0.2, 10, 90), as, ""},
		{"an answer of which it knows nothing", failing(0.2, 10, 89), as,
			"the client counted 90 answers, but the server served 89 requests"},
		{"a request that was sent again in silence", failing(0.2, 10, 101), as,
			"the client counted 100 requests, 10 of them failed; the server served 101"},
		{"few requests in the time, since some failed", failing(0.2, 10, 100), func(r *evidence) {
			r.setup.Requests, r.setup.MinDuration = 1000, time.Second
		}, ""},
		{"few requests, of which none failed", failing(0.2, 0, 100), func(r *evidence) {
			r.setup.Requests, r.setup.MinDuration = 1000, time.Second
		}, "100 requests were recorded in 0s, at least 1000 were requested"},
		{"one that was sent again, as the client says", failing(0.2, 10, 101),
			func(r *evidence) { r.ends[atClient].Repetitions = 1 }, ""},
	} {
		tt.change(tt.r)
		got := tt.r.fault()
		if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.what, got, tt.want)
		}
		refused := slices.ContainsFunc(tt.r.findings.quality, func(q store.Quality) bool {
			return q.Key == store.FailuresRefused
		})
		if want := strings.Contains(tt.want, "HTTP status") || strings.Contains(tt.want, "0 % of"); refused != want {
			t.Errorf("%s: noted that failures refused it: %v", tt.what, refused)
		}
	}
	if got := failing(0.5, 100, 100).answers(); strings.Contains(got, "write failures") || got == "" {
		t.Errorf("all failed: got %q, want no proposal", got)
	}
}

func TestGatesOfFailuresOfDevices(t *testing.T) {
	for may, want := range map[float64]string{0.01: "",
		0.009: "10 of 1000 requests failed, more than the 0.9 % of failures"} {
		r := soundDevices()
		r.failures = &may
		got := r.fault()
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%g: got %q, want %q", may, got, want)
		}
	}
}

// A trial is run again until its answers are right, as ever, where the study does not speak of failures. Where it does,
// one with more of them is not: only the lucky trials would be left.
func TestRefusedFailuresAreNotTriedAgain(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	share := func(x float64) *float64 { return &x }
	for _, tt := range []struct {
		what     string
		may      *float64
		bench    string
		attempts int
		valid    bool
		advice   string
	}{
		{"not said", nil, "", 3, false, "retries is 2: a trial is abandoned after 3 invalid attempts"},
		{"a fifth may", share(0.2), "", 1, true, ""},
		{"a tenth may", share(0.1), "", 1, false, "raise failures and run into a new directory"},
		{"a tenth may, on a bench of a fleet", share(0.1), "b1", 3, false, "retries is 2"},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := soundStack()
			client, _ := soundRecords()
			client[2].Failure = "HTTP status 500"
			s.acts[running] = act{say: lines(client) + endOf(fakeRequests, 1000)}
			l, alive := fakeLab(t, s, 1)
			defer func() { l.Store.Close() }()
			l.Plan.Study.Failures, l.Plan.Study.Retries, l.Bench = tt.may, 2, tt.bench
			o, err := l.Run(t.Context())
			alive.Wait()
			if err != nil {
				t.Fatal(err)
			}
			all, err := l.Store.Trials()
			if err != nil || all[0].Attempts != tt.attempts || (all[0].State == store.Valid) != tt.valid ||
				!strings.Contains(o.Advice, tt.advice) || (len(o.Missing) == 0) != tt.valid {
				t.Errorf("%s: got %+v, %+v, %v", tt.what, all[0], o, err)
			}
			got := -1.0
			for row, err := range l.Store.Results() {
				if err != nil {
					t.Fatal(err)
				}
				if row.Response == "failed_share" && row.Side == measure.Client {
					got = row.Mean
				}
			}
			if want := map[bool]float64{true: 0.2, false: -1}[tt.valid]; got != want {
				t.Errorf("%s: failed_share is %g, want %g", tt.what, got, want)
			}
			if tt.bench != "" || tt.may == nil {
				return
			}
			reopen(t, l) // who asks again gets the same answer
			if _, err := l.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			if all, err = l.Store.Trials(); err != nil || all[0].Attempts != tt.attempts {
				t.Errorf("%s: run again: got %+v, %v", tt.what, all[0], err)
			}
		})
	}
}

// Each trial of a study that speaks of failures says which share failed, also where nothing does.
func TestFailedShareOfNone(t *testing.T) {
	for _, said := range []bool{true, false} {
		r := failing(0.1, 0, 100)
		if !said {
			r.failures = nil
		}
		r.summarize()
		var got []float64
		for _, x := range r.findings.results {
			if x.Response == "failed_share" {
				got = append(got, x.Mean)
			}
		}
		if said && !slices.Equal(got, []float64{0}) || !said && got != nil {
			t.Errorf("said %v: got %v", said, got)
		}
	}
}
