package report

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// Every format that says how much was measured says within which time, unless it was less than a minute.
func TestReportSaysWithinWhichTimeTrialsRan(t *testing.T) {
	r := fakeReport(t, 2, 1, 4)
	for _, c := range []struct {
		within time.Duration
		want   string
	}{
		{6*time.Hour + 29*time.Minute + 40*time.Second, "8 of 8 trials valid within 6h30m, 95 % intervals"},
		{112*time.Second + time.Millisecond, "8 of 8 trials valid within 1m52s, 95 % intervals"},
		{59 * time.Second, "8 of 8 trials valid, 95 % intervals"},
		{0, "8 of 8 trials valid, 95 % intervals"},
	} {
		r.Within = c.within
		for _, format := range []string{"text", "markdown", "html", "latex"} {
			var b bytes.Buffer
			if err := Formats[format](r, &b); err != nil {
				t.Fatal(err)
			}
			want := c.want
			if format == "latex" {
				want = strings.ReplaceAll(want, " %", ` \%`)
			}
			if !strings.Contains(b.String(), want) {
				t.Errorf("%s, %v: no %q in\n%.600s", format, c.within, want, b.String())
			}
		}
	}
}
