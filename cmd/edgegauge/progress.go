package main

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"edgegauge.example/edgegauge/internal/drive/population"
	"edgegauge.example/edgegauge/internal/lab"
	"edgegauge.example/edgegauge/internal/printable"
	"edgegauge.example/edgegauge/internal/report"
	"edgegauge.example/edgegauge/internal/study"
)

// progress shows a running lab: one line that renews itself on a terminal, a
// line a trial elsewhere.
type progress struct {
	out      *os.File
	terminal bool

	mu    sync.Mutex // devices are told by another goroutine
	shown bool
	line  string // without what devices do
}

func newProgress(out *os.File) *progress {
	moves := os.Getenv("TERM") != "dumb" // back to the beginning of its line
	return &progress{out: out, terminal: moves && term.IsTerminal(int(out.Fd()))}
}

func (p *progress) tell(x lab.Progress) {
	treatment := make([]string, len(x.Trial.Treatment))
	for i, w := range x.Trial.Treatment {
		treatment[i] = w.Text
	}
	what := strings.Join(treatment, " ")
	p.mu.Lock()
	defer p.mu.Unlock()
	if x.Failure != nil {
		p.clear()
		fmt.Fprintf(p.out, "invalid: %s\n", printable.Text(fmt.Sprint(x.Failure)))
	}
	if p.terminal {
		p.line = fmt.Sprintf("%d/%d%s%s  %s: %s", x.Done, x.Total, left(x.Left), failures(x.Failures), what, x.Step)
		p.renew(p.line)
		return
	}
	if x.Step == "" && x.Failure == nil {
		fmt.Fprintf(p.out, "%d/%d%s%s  %s\n", x.Done, x.Total, left(x.Left), failures(x.Failures), printable.Line(what))
	}
}

// devices shows how the devices of the running trial are, before all else that the line says:
// a narrow terminal cuts its end off.
func (p *progress) devices(s population.State) {
	if !p.terminal {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.renew(fmt.Sprintf("%d of %d devices up, %s, %d failed, late by %s (p99)  %s", s.Devices-s.Down, s.Devices,
		report.Format(s.Rate, "1/s"), s.Failed, report.Format(s.Lateness.Seconds(), "s"), p.line))
}

func left(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return ", " + study.DurationText(d.Round(time.Second)) + " left"
}

func failures(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", %d failed", n)
}

func (p *progress) renew(line string) {
	line = printable.Line(line)
	width, _, err := term.GetSize(int(p.out.Fd()))
	if all := []rune(line); err == nil && width > 0 && len(all) >= width { // 0: the terminal does not know
		line = string(all[:width-1])
	}
	fmt.Fprintf(p.out, "\r\x1b[K%s", line)
	p.shown = true
}

func (p *progress) clear() {
	if p.shown {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}

func (p *progress) end() { p.clear() }
