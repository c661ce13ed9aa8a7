package population

import (
	"cmp"
	"flag"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/kernel/kerneltest"
	"edgegauge.example/edgegauge/internal/protocol/coap"
	"edgegauge.example/edgegauge/internal/stat"
)

var (
	recoveries = flag.Int("recoveries", 25, "fabricated outages for each row; doc/method.md has 500")
	updatePage = flag.Bool("update", false, "write the table of doc/method.md anew, with -recoveries 500")
)

// A fabricated outage: the network's, and a server that fails some requests for a time after it, or always.
type fabricated struct {
	words    string
	devices  int
	period   time.Duration
	reports  string        // their phase
	retry    string        // jitter, or off
	outage   time.Duration // from 20 s on
	timeout  time.Duration
	failing  float64       // share of the requests that the server fails
	until    time.Duration // after the outage, and then no more
	always   float64       // likewise, before and after
	duration time.Duration
}

// An ending is how a request ended, as somebody saw who knows the network and the server.
type ending struct {
	at     int64
	device int
	failed bool
}

// fabricate makes one run: what the product says of it, and how its requests ended.
func (f *fabricated) fabricate(seed uint64) (r *Account, ends []ending) {
	random := rand.New(rand.NewPCG(seed, 2))
	s := sensors(f.devices, f.period, f.reports)
	s.NON, s.Timeout, s.Seed = true, cmp.Or(f.timeout, 3*time.Second), seed
	s.Classes[0].Jitter = 0.1
	if f.retry != "off" {
		s.Retry = Backoff{First: time.Second, Factor: 2, Most: 2 * time.Minute, Jitter: f.retry}
	}
	s.Outage = Outage{At: 20 * time.Second, For: f.outage, Share: 1}
	began, over := int64(s.Outage.At), int64(s.Outage.At+s.Outage.For)
	answered := map[sent]bool{}
	w := &world{core: newCore(&s)}
	w.server = func(w *world, device int, m *coap.Message) []reply {
		share := f.always
		if w.now >= over && w.now < over+int64(f.until) {
			share = f.failing
		}
		if random.Float64() < share {
			return nil
		}
		if back := w.now + int64(rtt); back < began || back >= over {
			answered[sent{device: device, id: m.ID}] = true
		}
		return answers(w, device, m)
	}
	w.run(Load{For: f.duration, Record: true})
	for _, x := range w.sent {
		if x.kind != request {
			continue
		}
		e := ending{int64(x.at + rtt), x.device, false}
		if !answered[sent{device: x.device, id: x.id}] {
			e.at, e.failed = int64(x.at+s.Timeout), true
		}
		ends = append(ends, e)
	}
	slices.SortStableFunc(ends, func(a, b ending) int { return cmp.Compare(a.at, b.at) })
	return w.account(w.now), ends
}

// back is the first instant from one on at which no more devices are down than so many more than on average before the
// outage, for so long; below 0: there is none. Who knows from when on the server answers begins there.
func back(ends []ending, from, began, lasts, long int64, devices int, asBefore bool) int64 {
	failed := make([]bool, devices)
	down, since, last, before := 0, from, int64(0), 0.0
	tolerated := devices / 100
	passed := false
	for _, e := range append(slices.Clone(ends), ending{at: lasts}) {
		at := min(e.at, lasts)
		before += float64(down) * float64(max(min(at, began)-last, 0))
		if last = at; !passed && at >= began {
			if passed = true; asBefore {
				tolerated += int(math.Round(before / float64(began)))
			}
		}
		switch {
		case since >= 0 && at-since >= long:
			return since
		case at == lasts:
			return -1
		}
		switch {
		case e.failed && !failed[e.device]:
			down++
		case !e.failed && failed[e.device]:
			down--
		}
		failed[e.device] = e.failed
		switch {
		case down > tolerated:
			since = -1
		case since < 0:
			since = max(e.at, from)
		}
	}
	return -1
}

// A recovered is what became of the runs of a row.
type recovered struct {
	runs, none      int
	early, tooEarly int     // before it had happened, at all and by more than 3 s
	alone           int     // by more than 3 s, if devices alone were looked at, as until 28 November 2026
	bias, sd        float64 // s, of those that were found
	studies, held   int     // of five runs each, whose interval holds the mean truth
}

func (f *fabricated) measure(t *testing.T, runs int) recovered {
	out := recovered{runs: runs}
	said, truth := make([]float64, runs), make([]float64, runs)
	alone := make([]float64, runs)
	h := fnv.New64a()
	h.Write([]byte(f.words))
	var wait sync.WaitGroup
	turns := make(chan int)
	for range runtime.GOMAXPROCS(0) {
		wait.Add(1)
		go func() {
			defer wait.Done()
			for i := range turns {
				r, ends := f.fabricate(h.Sum64() + uint64(i))
				began, lasts := int64(20*time.Second), int64(f.duration)
				over := began + int64(f.outage)
				hindsight := int64(calm + f.timeout) // what the outage lost has failed by then
				truth[i] = float64(back(ends, over+int64(f.until), began, lasts, hindsight, f.devices, true)-over) / 1e9
				alone[i] = float64(back(ends, over, began, lasts, int64(calm), f.devices, false)-over) / 1e9
				said[i] = r.Recovery.Seconds()
				if r.Recovery < 0 {
					said[i] = math.NaN()
				}
			}
		}()
	}
	for i := range runs {
		turns <- i
	}
	close(turns)
	wait.Wait()
	const tooEarly, hardly = 3, 0.1 // s
	var off, truths []float64
	for i, x := range said {
		if truth[i] < 0 {
			continue // chance did not let so many be up for 10 s
		}
		truths = append(truths, truth[i])
		if alone[i] >= 0 && alone[i] < truth[i]-tooEarly {
			out.alone++
		}
		if math.IsNaN(x) {
			out.none++
			continue
		}
		off = append(off, x-truth[i])
		if x < truth[i]-hardly {
			out.early++
		}
		if x < truth[i]-tooEarly {
			out.tooEarly++
		}
	}
	mean := average(truths)
	out.bias, out.sd = average(off), stat.SD(off)
	for five := range slices.Chunk(said, 5) {
		if len(five) < 5 || slices.ContainsFunc(five, math.IsNaN) {
			continue // a report compares nothing where trials lack a recovery
		}
		s, err := stat.PositiveMean(five, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		if out.studies++; s.Lo <= mean && mean <= s.Hi {
			out.held++
		}
	}
	return out
}

func average(xs []float64) float64 {
	sum := 0.0
	for _, x := range xs {
		sum += x
	}
	return sum / float64(len(xs))
}

func percent(n, of int) float64 { return 100 * float64(n) / float64(max(of, 1)) }

func (f *fabricated) row(x recovered) string {
	held := "none"
	if x.studies > 0 {
		held = fmt.Sprintf("%.0f", percent(x.held, x.studies))
	}
	return fmt.Sprintf("| %s | %d | %.1f | %.1f | %.1f | %.1f | %.2f | %s |\n", f.words, x.runs, percent(x.alone, x.runs),
		percent(x.early, x.runs), percent(x.tooEarly, x.runs), percent(x.none, x.runs), x.bias, held)
}

// fabrications are the rows of the table: the outage lasts for 20 s, and a request waits for 3 s, unless a row says
// otherwise.
func fabrications() []fabricated {
	const s = time.Second
	storm := fabricated{devices: 300, period: 10 * s, reports: Aligned, retry: Full, outage: 20 * s, duration: 110 * s}
	some := func(words string, change func(*fabricated)) fabricated {
		f := storm
		f.words = words
		change(&f)
		return f
	}
	return []fabricated{
		some("300 devices each 10 s, without jitter: the outage alone", func(f *fabricated) { f.retry = None }),
		some("the same, equal jitter", func(f *fabricated) { f.retry = Equal }),
		some("the same, full jitter", func(*fabricated) {}),
		some("50 devices once a minute, full jitter: the outage alone", func(f *fabricated) {
			f.devices, f.period, f.reports, f.duration = 50, time.Minute, Random, 300*s
		}),
		some("300 devices, and half of the requests fail for 15 s after it", func(f *fabricated) {
			f.failing, f.until = 0.5, 15*s
		}),
		some("300 devices, and 10 % fail for 15 s", func(f *fabricated) {
			f.failing, f.until, f.reports = 0.1, 15*s, Random
		}),
		some("300 devices, and 5 % fail for 15 s", func(f *fabricated) {
			f.failing, f.until, f.reports = 0.05, 15*s, Random
		}),
		some("300 devices once a minute, and 10 % fail for 30 s", func(f *fabricated) {
			f.failing, f.until, f.period, f.reports, f.duration = 0.1, 30*s, time.Minute, Random, 240*s
		}),
		some("50 devices once a minute, and 10 % fail for 60 s", func(f *fabricated) {
			f.failing, f.until, f.period, f.reports, f.devices, f.duration = 0.1, time.Minute, time.Minute, Random, 50, 400*s
		}),
		some("20 devices each 10 s, and 10 % fail for 30 s", func(f *fabricated) {
			f.failing, f.until, f.reports, f.devices = 0.1, 30*s, Random, 20
		}),
		some("300 devices, and 1 % of the requests fail, always", func(f *fabricated) { f.always, f.reports = 0.01, Random }),
		some("the same, without retries", func(f *fabricated) { f.always, f.reports, f.retry = 0.01, Random, "off" }),
		some("300 devices, and 5 % of the requests fail, always", func(f *fabricated) { f.always, f.reports = 0.05, Random }),
		some("300 devices whose requests wait for 15 s, after 5 s of outage", func(f *fabricated) {
			f.timeout, f.outage, f.reports = 15*s, 5*s, Random
		}),
	}
}

// How often devices are said to have recovered before they had, or not at all, and how far the figure is off: runs of
// the engine in virtual time, with a server whose truth is known. The table is that of doc/method.md.
func TestRecoveryOfFabricatedTruths(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	old, write := kerneltest.Made(t, "../../../doc/method.md", "go test ./internal/drive/population "+
		"-run TestRecoveryOfFabricatedTruths -recoveries 500 -update -timeout 1h")
	made := "\n| truth | runs | by devices alone: 3 s early, % | early, % | 3 s early, % | not found, % | bias, s | " +
		"intervals that hold, % |\n|---|---:|---:|---:|---:|---:|---:|---:|\n"
	for _, f := range fabrications() {
		x := f.measure(t, *recoveries)
		made += f.row(x)
		t.Log(strings.TrimSpace(f.row(x)))
		if !*updatePage {
			f.compare(t, x, old)
		}
	}
	if *updatePage {
		write(made + "\n")
	}
}

// compare holds a row against the page's, within five standard errors of so few runs.
func (f *fabricated) compare(t *testing.T, x recovered, page string) {
	t.Helper()
	cells := regexp.MustCompile(`(?m)^\| ` + regexp.QuoteMeta(f.words) +
		` \| (\d+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \| (-?[\d.]+) \|`).FindStringSubmatch(page)
	if cells == nil {
		t.Errorf("doc/method.md has no row %q; run with -update", f.words)
		return
	}
	var said [6]float64 // as a row has them
	for i, c := range cells[1:] {
		said[i], _ = strconv.ParseFloat(c, 64)
	}
	for i, got := range []float64{percent(x.alone, x.runs), percent(x.early, x.runs), percent(x.tooEarly, x.runs),
		percent(x.none, x.runs)} {
		p := min(max(said[i+1]/100, 0.01), 0.99)
		if slack := 500 * math.Sqrt(p*(1-p)/float64(x.runs)); math.Abs(got-said[i+1]) > slack {
			t.Errorf("%s: %.1f %% in column %d, doc/method.md has %v", f.words, got, i+2, said[i+1])
		}
	}
	sd := x.sd
	if sd == 0 { // the bias is that of a few runs, late by up to a period, of which none is among so few
		sd = math.Sqrt(math.Abs(said[5]) * f.period.Seconds())
	}
	if n := float64(x.runs - x.none); n > 1 && math.Abs(x.bias-said[5]) > 5*sd/math.Sqrt(n)+0.1 {
		t.Errorf("%s: off by %.2f s, doc/method.md has %v", f.words, x.bias, said[5])
	}
}
