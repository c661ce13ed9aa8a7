package report

import (
	"bytes"
	"html"
	"strings"
	"testing"
	"time"
)

// Every format that says how much was measured says within which time, unless it was less than a minute, and that
// intervals cover no more, unless it was half a day.
func TestReportSaysWithinWhichTimeTrialsRan(t *testing.T) {
	const thatTime = "they cover only what varied within that time"
	r := fakeReport(t, 2, 1, 4)
	for _, c := range []struct {
		within time.Duration
		want   string
	}{
		{13*time.Hour + 29*time.Minute + 40*time.Second, "8 of 8 trials valid within 13h30m, 95 % intervals from trials"},
		{112*time.Second + time.Millisecond, "8 of 8 trials valid within 1m52s, 95 % intervals from trials; " + thatTime},
		{59 * time.Second, "8 of 8 trials valid, 95 % intervals from trials"},
		{0, "8 of 8 trials valid, 95 % intervals from trials"},
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
			said := html.UnescapeString(b.String())
			if !strings.Contains(said, want) || strings.Contains(said, thatTime) != strings.Contains(want, thatTime) {
				t.Errorf("%s, %v: no %q in\n%.600s", format, c.within, want, said)
			}
		}
	}
}
