package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"edgegauge.example/edgegauge/internal/lab"
	"edgegauge.example/edgegauge/internal/printable"
)

// progress shows a running lab: one line that renews itself on a terminal, a
// line a trial elsewhere.
type progress struct {
	out      *os.File
	terminal bool
	dir      string
	shown    bool
}

func newProgress(out *os.File, dir string) *progress {
	return &progress{out: out, terminal: term.IsTerminal(int(out.Fd())), dir: dir}
}

func (p *progress) tell(x lab.Progress) {
	treatment := make([]string, len(x.Trial.Treatment))
	for i, w := range x.Trial.Treatment {
		treatment[i] = w.Text
	}
	what := strings.Join(treatment, " ")
	if x.Failure != nil {
		p.clear()
		fmt.Fprintf(p.out, "invalid: %s\n", printable.Text(fmt.Sprint(x.Failure)))
	}
	if p.terminal {
		p.renew(fmt.Sprintf("%d/%d%s%s  %s: %s", x.Done, x.Total, left(x.Left), failures(x.Failures), what, x.Step))
		return
	}
	if x.Step == "" && x.Failure == nil {
		fmt.Fprintf(p.out, "%d/%d%s%s  %s\n", x.Done, x.Total, left(x.Left), failures(x.Failures), printable.Line(what))
	}
}

func left(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return ", " + d.Round(time.Second).String() + " left"
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
	if err == nil && len(line) >= width {
		line = line[:max(0, width-1)]
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
