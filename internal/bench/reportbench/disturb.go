package reportbench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"edgegauge.example/edgegauge/internal/bench/labbench"
	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/lab/fabricated"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/study"
	"edgegauge.example/edgegauge/internal/web"
)

// pairs are bursts with readers, each beside one without.
const pairs = 40

// How many read the page, and how many of them never take what it sends.
const readersAll, readersDeaf = 10, 5

// How long requests are sent at a time, and how long readers are there, or gone, before that.
const burst, settle = time.Second, 200 * time.Millisecond

// disturbed are the stacks whose round trips are timed.
var disturbed = []labbench.Held{
	{Stack: "phantom", Encoding: "xml", Options: map[string]string{"processing": "1ms"}},
	{Stack: "coap-cbor", Encoding: "cbor"},
	{Stack: "rest-json", Encoding: "json"},
}

// disturbanceRows compare round trips while ten read the page of a running study with round
// trips while nobody does. The programs stay the same, since two starts of one program differ
// by more than what is looked for.
func disturbanceRows(ctx context.Context, b *labbench.Bench) ([]labbench.Row, error) {
	const figure, wanted = "% more RTT with readers", "< 0.5 or none within the interval"
	cpus := kernel.AllowedCPUs()
	if len(cpus) < 2 {
		return []labbench.Row{{Figure: figure, Wanted: wanted, Measured: "–", Verdict: "not measured",
			How: "the page has no CPU of its own here: it needs two"}}, nil
	}
	dir, err := os.MkdirTemp(b.Dir, "disturb-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	var rows []labbench.Row
	for i, h := range disturbed {
		h.CPUs = cpus[:len(cpus)-1]
		own := cpus[len(cpus)-1:]
		logs, err := disturb(ctx, b, filepath.Join(dir, h.Stack), h, own)
		if err != nil {
			return rows, fmt.Errorf("%s: %w", h.Stack, err)
		}
		m, err := stat.Mean(logs, 0.95)
		if err != nil {
			return rows, err
		}
		row := disturbanceRow(figure+", "+h.Stack, wanted, m)
		if i == 0 {
			row.How = fmt.Sprintf("one server and one client on the CPUs of a trial, %d pairs of bursts of %v, before each of "+
				"which a trial is committed; in one of a pair %d pages watch through edgegauge web on the last CPU, %d of "+
				"which never read; which is first alternates; mean log ratio of the mean RTT, 95 %% interval", pairs, burst,
				readersAll, readersDeaf)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// disturb returns the log ratios of the pairs. The page, its readers and this process, which
// plays the lab, get the CPUs own.
func disturb(ctx context.Context, b *labbench.Bench, dir string, h labbench.Held, own []int) ([]float64, error) {
	session, end, err := b.Pair(ctx, h)
	if err != nil {
		return nil, err
	}
	defer end()
	back, err := kernel.PinProcess(own)
	if err != nil {
		return nil, err
	}
	defer back()
	kept, plan, err := fabricated.Create(filepath.Join(dir, "001"), fabricated.Study(4, pairs, 1000))
	if err != nil {
		return nil, err
	}
	defer kept.Close()
	told, err := kernel.NewNotice(web.NoticeName)
	if err != nil {
		return nil, err
	}
	defer told.Close()
	page, address, err := servePage(ctx, b.Exe, dir)
	if err != nil {
		return nil, err
	}
	defer page()
	if _, err := session.WarmUp(ctx, stack.Run{Duration: int64(2 * burst), Concurrency: 1}); err != nil {
		return nil, err
	}
	x := playedLab{kept: kept, told: told, plan: plan}
	var logs []float64
	for pair := range pairs {
		var rtt [2]float64 // without readers, with them
		for i := range 2 {
			with := (pair + i) % 2
			// Both kinds of burst come after the same pause: on a busy machine a program that has
			// rested is given more of its CPU.
			now, err := watch(address)
			if with == 0 || err != nil {
				now.close()
			}
			if err != nil {
				return nil, err
			}
			time.Sleep(settle)
			rtt[with], err = x.trial(ctx, session)
			now.close()
			if err != nil {
				return nil, err
			}
		}
		logs = append(logs, math.Log(rtt[1]/rtt[0]))
	}
	return logs, nil
}

// A playedLab does to results what a lab does around a trial.
type playedLab struct {
	kept *store.Store
	told *kernel.Notice
	plan study.Plan
	next int // trial
}

// trial has requests sent for a burst, and returns their mean RTT in s.
func (x *playedLab) trial(ctx context.Context, s *stack.Session) (float64, error) {
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for i := 0; ; i++ {
			x.tell(i)
			select {
			case <-stop:
				return
			case <-time.After(burst / 2):
			}
		}
	}()
	var seen mean
	err := fabricated.Trial(x.kept, x.plan.Trials[x.next], 1000, func(*store.Attempt) error {
		_, err := s.Measure(ctx, stack.Run{Duration: int64(burst), Concurrency: 1}, &seen, new(mean))
		return err
	})
	x.next++
	close(stop)
	<-stopped
	if err == nil {
		err = seen.failed
	}
	if err == nil && seen.n == 0 {
		err = errors.New("no request was sent")
	}
	return seen.sum / float64(seen.n), err
}

// tell says what a lab says of a trial with meters.
func (x *playedLab) tell(i int) {
	text, err := json.Marshal(web.LabNotice{Step: "measure", At: time.Now().UnixMilli(),
		Watts: map[measure.Side]float64{measure.Client: 2.5 + 0.01*float64(i%7), measure.Server: 1.25}})
	if err == nil {
		x.told.Write(text)
	}
}

// mean is the sink of a side's records.
type mean struct {
	n      int
	sum    float64 // s
	failed error
}

func (m *mean) Record(x measure.Exchange) error {
	if x.Failure != "" {
		m.failed = fmt.Errorf("request %d: %s", x.Seq, x.Failure)
	}
	m.n++
	m.sum += x.RTT().Seconds()
	return nil
}

func (m *mean) End(stack.End) error { return nil }

// readers are connections of pages that watch.
type readers []net.Conn

func (r readers) close() {
	for _, c := range r {
		c.Close()
	}
}

// watch opens the streams of all readers, and waits until those that read have a state.
func watch(address string) (readers, error) {
	var all readers
	for i := range readersAll {
		c, err := net.Dial("tcp", address)
		if err != nil {
			return all, err
		}
		all = append(all, c)
		fmt.Fprintf(c, "GET /now/events HTTP/1.1\r\nHost: localhost\r\n\r\n") // an error shows in the answer
		in := bufio.NewReader(c)
		line, err := in.ReadString('\n')
		if err != nil || !strings.Contains(line, " 200 ") {
			return all, fmt.Errorf("a page that would watch got %q, %v", line, err)
		}
		if i < readersDeaf {
			continue
		}
		for !strings.HasPrefix(line, "data: ") {
			if line, err = in.ReadString('\n'); err != nil {
				return all, err
			}
		}
		if !strings.Contains(line, "running") {
			return all, fmt.Errorf("the page does not show the study: %.300s", line)
		}
		go func() { _, _ = io.Copy(io.Discard, in) }() // until it is closed
	}
	return all, nil
}

// servePage starts edgegauge web on a folder.
func servePage(ctx context.Context, exe, dir string) (end func(), address string, err error) {
	cmd := exec.CommandContext(ctx, exe, "web", dir, "--listen", "127.0.0.1:0")
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, "", err
	}
	if err := cmd.Start(); err != nil {
		return nil, "", err
	}
	end = func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	u, bad := url.Parse(strings.TrimSpace(line))
	if err != nil || bad != nil {
		end()
		return nil, "", fmt.Errorf("edgegauge web printed %q", line)
	}
	a, err := http.Get(u.String()) // it is there
	if err != nil {
		end()
		return nil, "", err
	}
	a.Body.Close()
	return end, u.Host, nil
}

// widestNone is how wide, in percent, an interval may be in which there is no difference: on a
// busy machine every difference hides in a wide one.
const widestNone = 10

// disturbanceRow judges the change of an RTT: too small to matter, or not to be told from none.
func disturbanceRow(figure, wanted string, logs stat.Summary) labbench.Row {
	percent := func(log float64) float64 { return 100 * math.Expm1(log) }
	row := labbench.Row{Figure: figure, Wanted: wanted, Verdict: "not met",
		Measured: fmt.Sprintf("%+.2f (%+.2f to %+.2f)", percent(logs.Center), percent(logs.Lo), percent(logs.Hi))}
	switch {
	case percent(logs.Lo) > -0.5 && percent(logs.Hi) < 0.5:
		row.Verdict = "met: less than 0.5"
	case logs.Lo <= 0 && logs.Hi >= 0 && percent(logs.Hi)-percent(logs.Lo) <= widestNone:
		row.Verdict = "met: no difference within the interval"
	case logs.Lo <= 0 && logs.Hi >= 0:
		row.Verdict = "unsure"
	}
	return row
}
