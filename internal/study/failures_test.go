package study

import (
	"strings"
	"testing"
)

// The share that may fail is the study's: all of it may, or none, and a study that says none differs from one that does
// not say.
func TestFailures(t *testing.T) {
	const file = "study: a\nservice: monitor\nstack: rest-json\n"
	for text, want := range map[string]float64{"failures: 1%": 0.01, "failures: 0.2": 0.2, "failures: 100%": 1,
		"failures: 0": 0} {
		if s := parse(t, file+text+"\n"); s.Failures == nil || *s.Failures != want {
			t.Errorf("%s: got %v, want %v", text, s.Failures, want)
		}
	}
	s, err := Parse("f", []byte(file+"failures: 1%\n"), vocabulary(), "failures=20%")
	if err != nil || s.Failures == nil || *s.Failures != 0.2 {
		t.Errorf("--set failures=20%%: got %v, %v", s.Failures, err)
	}
	for text, want := range map[string]string{
		"failures: 101%":   "failures 101% is not a share; write a share between 0 and 1, or between 0% and 100%",
		"failures: -1%":    "failures -1% is not a share",
		"failures: many":   "failures many is not a share; write a share such as 0.05 or 5%",
		"failures: [1%]":   "failures is a list; write a share such as 0.05 or 5%",
		"failures:":        "failures is empty",
		"error_rate: 1%":   "did you mean failures?",
		"failed_share: 1%": "did you mean failures?",
		"factors: {failures: [1%, 2%], stack: [soap, rest-json]}": "failures",
	} {
		if _, err := Parse("f", []byte(file+text+"\n"), vocabulary()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}

// What is proposed is more than what was seen, by what chance may add.
func TestFailuresThatAreProposed(t *testing.T) {
	for _, tt := range []struct {
		failed, n int
		want      string
	}{
		{100, 1000, "20%"}, {1, 1000, "0.5%"}, {3, 1000, "1%"}, {50, 1000, "10%"}, {1, 1_000_000, "0.1%"},
		{1, 20, "20%"}, {6, 20, "70%"}, {20, 20, "100%"}, {400, 1000, "50%"},
		{17, 60, "50%"}, {18, 60, "60%"}, {34, 60, "90%"}, {40, 60, "100%"},
	} {
		if got := FailuresFor(tt.failed, tt.n); got != tt.want {
			t.Errorf("%d of %d: got %s, want %s", tt.failed, tt.n, got, tt.want)
		}
	}
}
