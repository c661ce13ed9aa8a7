// Package reportbench times the report of a study of many requests, and the page
// in a browser. It is a table for people (make bench), not a test.
package reportbench

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"edgegauge.example/edgegauge/internal/bench/labbench"
	"edgegauge.example/edgegauge/internal/lab/fabricated"
	"edgegauge.example/edgegauge/internal/lazy"
	"edgegauge.example/edgegauge/internal/report/chromium"
	"edgegauge.example/edgegauge/internal/stat"
)

// Twenty treatments in 25 blocks: 500 trials.
const (
	treatments, replications = 20, 25
	rounds                   = 3
)

// Parts are the rows of bench that are the report's.
func Parts() []labbench.Part {
	return []labbench.Part{
		{Name: "report", Says: "the pages of 10 and of 100 million exchanges; for one only: report/10M, report/100M",
			Measure: each(reportParts()), Each: reportParts()},
		{Name: "web", Says: "the live page; for a part only: web/disturb, web/live, web/day, web/pages",
			Measure: each(webParts()), Each: webParts()}}
}

func reportParts() []labbench.Part {
	return []labbench.Part{
		{Name: "report/10M", Says: "the page of 10 million exchanges", Measure: rows(20_000, "10 million", 500)},
		{Name: "report/100M", Says: "the page of 100 million exchanges", Measure: rows(200_000, "100 million", 100)},
	}
}

func webParts() []labbench.Part {
	return []labbench.Part{
		{Name: "web/disturb", Says: "round trips while ten read, and while nobody does", Measure: disturbanceRows},
		{Name: "web/live", Says: "the lab's wait and the page's delay", Measure: liveRows},
		{Name: "web/day", Says: "a day of states in a browser", Measure: dayRows},
		{Name: "web/pages", Says: "many and large results", Measure: pageRows},
	}
}

// each measures one part after the other.
func each(parts []labbench.Part) func(context.Context, *labbench.Bench) ([]labbench.Row, error) {
	return func(ctx context.Context, b *labbench.Bench) ([]labbench.Row, error) {
		var all []labbench.Row
		for _, p := range parts {
			rows, err := p.Measure(ctx, b)
			if all = append(all, rows...); err != nil {
				return all, err
			}
		}
		return all, nil
	}
}

// A cost is what one run of the report took.
type cost struct {
	wall, cpu time.Duration
	peakRSS   int64 // B
	size      int64 // B, of the page
}

// rows times the report of trials of that many requests each, which may take mostMB.
func rows(requests int, all string, mostMB float64) func(context.Context, *labbench.Bench) ([]labbench.Row, error) {
	return func(ctx context.Context, b *labbench.Bench) ([]labbench.Row, error) {
		dir, err := os.MkdirTemp(b.Dir, "reportbench-")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(dir)
		results, page := filepath.Join(dir, "results"), filepath.Join(dir, "report.html")
		if err := fabricated.Make(results, treatments, replications, requests); err != nil {
			return nil, err
		}
		var walls, cpus, peaks []float64
		var last cost
		for range rounds {
			if last, err = Report(ctx, b.Exe, results, page); err != nil {
				return nil, err
			}
			walls, cpus, peaks = append(walls, last.wall.Seconds()), append(cpus, last.cpu.Seconds()),
				append(peaks, float64(last.peakRSS)/1e6)
		}
		out := []labbench.Row{
			atMost(fmt.Sprintf("s to analyse %s exchanges to the full page", all), stat.Middle(walls), 10),
			atMost("MB peak RSS of that process", stat.Middle(peaks), mostMB),
			atMost(fmt.Sprintf("MB of the page, %d treatments × 6 responses", treatments), float64(last.size)/1e6, 3),
		}
		out[0].How = fmt.Sprintf("`report --format html` in %d fresh processes, medians, files in the page cache: %d "+
			"trials of %d exchanges, both sides' records, 11 figures with distribution and course; %.1f s of CPU time",
			rounds, treatments*replications, requests, stat.Middle(cpus))
		return append(out, inBrowser(ctx, page)), nil
	}
}

// Report runs `edgegauge report DIR --format html --out PAGE`.
func Report(ctx context.Context, exe, results, page string) (cost, error) {
	cmd := exec.CommandContext(ctx, exe, "report", results, "--format", "html", "--out", page)
	var said bytes.Buffer
	cmd.Stderr = &said
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return cost{}, err
	}
	peak := labbench.WatchPeak(cmd.Process.Pid)
	err := cmd.Wait()
	c := cost{wall: time.Since(began), peakRSS: peak(),
		cpu: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}
	if err != nil {
		return c, fmt.Errorf("report: %w: %s", err, said.String())
	}
	info, err := os.Stat(page)
	if err == nil {
		c.size = info.Size()
	}
	return c, err
}

var readyMark = lazy.Regexp(`data-ready="(\d+)"`)

// inBrowser asks Chromium when the page was ready to be used: its own clock,
// from the beginning of the navigation to the end of its script.
func inBrowser(ctx context.Context, page string) labbench.Row {
	const figure, wanted = "s until the page is interactive", "≤ 1"
	program, err := chromium.Find()
	if err != nil {
		return noBrowser(figure, wanted)
	}
	var ready []float64
	for range rounds {
		profile, err := os.MkdirTemp(filepath.Dir(page), "profile-")
		if err != nil {
			return labbench.Row{Figure: figure, Wanted: wanted, Verdict: err.Error()}
		}
		args := []string{"--headless", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
			"--disable-background-networking", "--user-data-dir=" + profile, "--dump-dom", "file://" + page}
		if os.Getuid() == 0 {
			args = append([]string{"--no-sandbox"}, args...)
		}
		out, err := exec.CommandContext(ctx, program, args...).Output()
		m := readyMark().FindSubmatch(out)
		if err != nil || m == nil {
			return labbench.Row{Figure: figure, Wanted: wanted, Measured: "–",
				Verdict: fmt.Sprintf("not measured: the page did not become ready (%v)", err)}
		}
		ms, _ := strconv.Atoi(string(m[1])) // it is digits
		ready = append(ready, float64(ms)/1000)
	}
	r := atMost(figure, stat.Middle(ready), 1)
	r.How = fmt.Sprintf("headless Chromium, %d fresh profiles, median: from navigation start to the first chart drawn "+
		"and its controls at work", rounds)
	return r
}

// noBrowser is the row of what only a browser can tell.
func noBrowser(figure, wanted string) labbench.Row {
	return labbench.Row{Figure: figure, Wanted: wanted, Measured: "–", Verdict: "not measured",
		How: "chromium is missing: apt-get install chromium"}
}

func atMost(figure string, got, most float64) labbench.Row {
	r := labbench.Row{Figure: figure, Wanted: fmt.Sprintf("≤ %g", most), Measured: fmt.Sprintf("%.3g", got),
		Verdict: "met"}
	if got > most {
		r.Verdict = "not met"
	}
	return r
}
