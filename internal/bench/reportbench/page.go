package reportbench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"edgegauge.example/edgegauge/internal/bench/labbench"
	"edgegauge.example/edgegauge/internal/lab/fabricated"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/report/chromium"
	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/web"
)

// manyResults is how many the list of the page has.
const manyResults = 1000

// pageRows times the pages of many results and of large ones.
func pageRows(_ context.Context, b *labbench.Bench) ([]labbench.Row, error) {
	dir, err := os.MkdirTemp(b.Dir, "pagebench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	var rows []labbench.Row
	for _, measure := range []func(dir string) ([]labbench.Row, error){listRows, historyRows, resultRows, longRows} {
		own, err := os.MkdirTemp(dir, "")
		if err != nil {
			return rows, err
		}
		more, err := measure(own)
		if rows = append(rows, more...); err != nil {
			return rows, err
		}
	}
	return rows, nil
}

// listRows time the first page of many results, from an index that is there.
func listRows(whole string) ([]labbench.Row, error) {
	dir := filepath.Join(whole, "results")
	o := web.Options{Folders: []string{dir}, Cache: filepath.Join(whole, "cache")}
	one := filepath.Join(dir, "0000")
	if err := fabricated.Make(one, 2, 2, 20); err != nil {
		return nil, err
	}
	for i := 1; i < manyResults; i++ {
		if err := os.CopyFS(filepath.Join(dir, fmt.Sprintf("%04d", i)), os.DirFS(one)); err != nil {
			return nil, err
		}
	}
	var times []float64
	for i := range rounds + 1 { // the first makes the index
		took, err := asked(o, "")
		if err != nil {
			return nil, err
		}
		if i > 0 {
			times = append(times, took[0])
		}
	}
	row := atMost(fmt.Sprintf("s to the first page of %d results", manyResults), stat.Middle(times), 0.1)
	row.How = fmt.Sprintf("the server's time: begun anew, its index there, %d times, median: folders walked, ledgers' "+
		"times compared", rounds)
	painted, err := paintRow(o, filepath.Join(whole, "profile"))
	return []labbench.Row{row, painted}, err
}

// paints is how often the first page is opened in a browser.
const paints = 9

// paintRow asks Chromium when it first painted some of the list: its own clock, from the
// beginning of the navigation.
func paintRow(o web.Options, profile string) (labbench.Row, error) {
	const figure, most = "s until Chromium paints that page", 0.1
	if _, err := chromium.Find(); err != nil {
		return noBrowser(figure, fmt.Sprintf("≤ %g", most)), nil
	}
	base, end, err := serve(o)
	if err != nil {
		return labbench.Row{}, err
	}
	defer end()
	b, err := chromium.Start(profile)
	if err != nil {
		return labbench.Row{}, err
	}
	defer b.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return labbench.Row{}, err
	}
	empty := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "<!doctype html><title>empty</title><p>nothing")
	})}
	go empty.Serve(l)
	defer empty.Close()
	var times, answers, floors []float64
	for i := range paints + 1 { // the first also starts the renderer
		floor, err := painted(b, "http://"+l.Addr().String()+"/")
		if err != nil {
			return labbench.Row{}, err
		}
		at, err := painted(b, base)
		if err != nil {
			return labbench.Row{}, err
		}
		if i > 0 {
			times, answers = append(times, at.Paint/1e3), append(answers, at.Answer/1e3)
			floors = append(floors, floor.Paint/1e3)
		}
	}
	row := atMost(figure, stat.Middle(times), most)
	row.How = fmt.Sprintf("headless Chromium, from the start of the navigation to its first contentful paint, opened %d "+
		"times, median; longest %.2g; the answer was there after %.2g. A page of one word, in turns with it: %.2g",
		paints, slices.Max(times), stat.Middle(answers), stat.Middle(floors))
	return row, nil
}

// painting is when a browser had a page's answer, and when it first painted some of it: ms
// since the navigation began.
type painting struct{ Paint, Answer float64 }

// painted opens an address from an empty page.
func painted(b *chromium.Browser, address string) (at painting, err error) {
	if err := b.Go("about:blank"); err != nil {
		return at, err
	}
	if err := b.Go(address); err != nil {
		return at, err
	}
	return at, b.Value(&at, `new Promise((done) => {
		const say = (e) => done({paint: e.startTime,
			answer: performance.getEntriesByType("navigation")[0].responseEnd});
		const seen = new PerformanceObserver((l) => l.getEntriesByName("first-contentful-paint").forEach(say));
		seen.observe({type: "paint", buffered: true});
	})`)
}

// historyRows time the page of the history of many runs.
func historyRows(dir string) ([]labbench.Row, error) {
	runs, errs := make(chan int), make(chan error, runtime.NumCPU())
	for range runtime.NumCPU() {
		go func() {
			var failed error
			for i := range runs {
				if failed == nil {
					failed = pastRun(filepath.Join(dir, fmt.Sprintf("%04d", i)), uint64(i))
				}
			}
			errs <- failed
		}()
	}
	for i := range manyResults {
		runs <- i
	}
	close(runs)
	var err error
	for range runtime.NumCPU() {
		err = errors.Join(err, <-errs)
	}
	if err != nil {
		return nil, err
	}
	took, err := asked(web.Options{Folders: []string{dir}}, "history/", "history/")
	if err != nil {
		return nil, err
	}
	row := atMost(fmt.Sprintf("s to the history of %d results, opened again", manyResults), took[1], 1)
	row.How = fmt.Sprintf("one series; the first time, with no index and all ledgers to be read: %.3g s", took[0])
	return []labbench.Row{row}, nil
}

// pastRun makes results without change but noise.
func pastRun(dir string, seed uint64) error {
	s, plan, err := fabricated.Create(dir, []byte("study: gate\nservice: monitor\nstack: s\nrequests: 100\n"+
		"design: {replications: 4, seed: 1}\nresponses: [rtt]\n"))
	if err != nil {
		return err
	}
	defer s.Close()
	r := rand.New(rand.NewPCG(seed, 1))
	for _, t := range plan.Trials {
		a, err := s.Begin(t.ID)
		if err != nil {
			return err
		}
		v := 1e-3 * math.Exp(0.03*r.NormFloat64())
		if err := a.Commit([]store.Result{{Side: measure.Client, Response: "rtt", Unit: "s", N: 100, Mean: v, SD: v / 10,
			Median: v, P95: 1.2 * v, Min: 0.9 * v, Max: 1.3 * v, Method: store.Measured}}, nil); err != nil {
			return err
		}
	}
	return nil
}

// resultRows time the page of the same results that the report is timed with.
func resultRows(whole string) ([]labbench.Row, error) {
	dir := filepath.Join(whole, "results")
	if err := fabricated.Make(dir, treatments, replications, 20_000); err != nil {
		return nil, err
	}
	var times []float64
	for range rounds {
		took, err := asked(web.Options{Folders: []string{dir}}, "", "t/3/")
		if err != nil {
			return nil, err
		}
		times = append(times, took[0])
	}
	row := atMost("s to the page of a result of 10 million exchanges", stat.Middle(times), 1)
	row.How = fmt.Sprintf("%d trials, from their ledger: the page offers to read the raw files", treatments*replications)
	return []labbench.Row{row}, nil
}

// longRows time the pages of a trial of a million requests, and of one of these.
func longRows(whole string) ([]labbench.Row, error) {
	dir := filepath.Join(whole, "results")
	if err := fabricated.Make(dir, 2, 1, 1_000_000); err != nil {
		return nil, err
	}
	var times [2][]float64
	for range rounds {
		took, err := asked(web.Options{Folders: []string{dir}}, "", "t/2/", "t/2/x/777777/")
		if err != nil {
			return nil, err
		}
		for i := range times {
			times[i] = append(times[i], took[i+1])
		}
	}
	out := []labbench.Row{
		atMost("s to the page of a trial of 1 million requests", stat.Middle(times[0]), 1),
		atMost("s to the page of one of its requests", stat.Middle(times[1]), 0.3),
	}
	out[0].How = "both sides: 8 figures of distribution and course, thinned to 2000 points, checksums compared"
	return out, nil
}

// serve begins a server in this process. End ends it.
func serve(o web.Options) (base string, end func(), err error) {
	s, err := web.New(o)
	if err != nil {
		return "", nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, errors.Join(err, s.Close())
	}
	begun, ended := make(chan *http.Server, 1), make(chan error, 1)
	go func() { ended <- s.Serve(l, "", "", func(h *http.Server) { begun <- h }) }()
	var h *http.Server
	select {
	case h = <-begun:
	case err := <-ended:
		return "", nil, errors.Join(err, s.Close())
	}
	return "http://" + l.Addr().String() + "/", func() {
		_ = h.Close() // it served long enough
		<-ended
		s.Close()
	}, nil
}

// asked begins a server, asks it for the list or, of the only result, for pages one
// after the other, and returns how long each took, in s.
func asked(o web.Options, pages ...string) ([]float64, error) {
	s, err := web.New(o)
	if err != nil {
		return nil, err
	}
	ids := s.IDs()
	s.Close()
	base, end, err := serve(o)
	if err != nil {
		return nil, err
	}
	defer end()
	if len(pages) > 1 && pages[1] != pages[0] { // those of a result
		base += "r/" + ids[0] + "/"
	}
	var out []float64
	for _, p := range pages {
		at := time.Now()
		a, err := http.Get(base + p)
		if err != nil {
			return nil, err
		}
		_, err = io.Copy(io.Discard, a.Body)
		a.Body.Close()
		out = append(out, time.Since(at).Seconds())
		if err != nil || a.StatusCode != http.StatusOK {
			return nil, fmt.Errorf("%s: %s: %w", p, a.Status, err)
		}
	}
	return out, nil
}
