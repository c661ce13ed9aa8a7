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
	"time"

	"edgegauge.example/edgegauge/internal/bench/labbench"
	"edgegauge.example/edgegauge/internal/lab/fabricated"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/web"
)

// manyResults is how many the list of the page has.
const manyResults = 1000

// pageRows times the page that edgegauge web serves.
func pageRows(_ context.Context, b *labbench.Bench) ([]labbench.Row, error) {
	dir, err := os.MkdirTemp(b.Dir, "pagebench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	wait, err := waitRow()
	if err != nil {
		return nil, err
	}
	live, err := liveRow(filepath.Join(dir, "live"))
	if err != nil {
		return []labbench.Row{wait}, err
	}
	list, err := listRow(filepath.Join(dir, "many"), filepath.Join(dir, "cache"))
	if err != nil {
		return []labbench.Row{wait, live}, err
	}
	past, err := historyRow(filepath.Join(dir, "past"))
	if err != nil {
		return []labbench.Row{wait, live, list}, err
	}
	result, err := resultRow(filepath.Join(dir, "large"))
	if err != nil {
		return nil, err
	}
	long, err := longRows(filepath.Join(dir, "long"))
	return append([]labbench.Row{wait, live, list, past, result}, long...), err
}

// listRow times the first page of many results, from an index that is there.
func listRow(dir, cache string) (labbench.Row, error) {
	one := filepath.Join(dir, "0000")
	if err := fabricated.Make(one, 2, 2, 20); err != nil {
		return labbench.Row{}, err
	}
	for i := 1; i < manyResults; i++ {
		if err := os.CopyFS(filepath.Join(dir, fmt.Sprintf("%04d", i)), os.DirFS(one)); err != nil {
			return labbench.Row{}, err
		}
	}
	var times []float64
	for i := range rounds + 1 { // the first makes the index
		took, err := asked(web.Options{Folders: []string{dir}, Cache: cache}, "")
		if err != nil {
			return labbench.Row{}, err
		}
		if i > 0 {
			times = append(times, took[0])
		}
	}
	row := atMost(fmt.Sprintf("s to the first page of %d results", manyResults), middle(times), 0.1)
	row.How = fmt.Sprintf("a server begun anew, its index there, %d times, median: folders walked, ledgers' times "+
		"compared",
		rounds)
	return row, nil
}

// historyRow times the page of the history of many runs.
func historyRow(dir string) (labbench.Row, error) {
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
		return labbench.Row{}, err
	}
	took, err := asked(web.Options{Folders: []string{dir}}, "history/", "history/")
	if err != nil {
		return labbench.Row{}, err
	}
	row := atMost(fmt.Sprintf("s to the history of %d results, opened again", manyResults), took[1], 1)
	row.How = fmt.Sprintf("one series; the first time, with no index and all ledgers to be read: %.3g s", took[0])
	return row, nil
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

// resultRow times the page of the same results that the report is timed with.
func resultRow(dir string) (labbench.Row, error) {
	if err := fabricated.Make(dir, treatments, replications, requests); err != nil {
		return labbench.Row{}, err
	}
	var times []float64
	for range rounds {
		took, err := asked(web.Options{Folders: []string{dir}}, "", "t/3/")
		if err != nil {
			return labbench.Row{}, err
		}
		times = append(times, took[0])
	}
	row := atMost("s to the page of a result of 10 million exchanges", middle(times), 1)
	row.How = fmt.Sprintf("%d trials, from their ledger: the page offers to read the raw files", treatments*replications)
	return row, nil
}

// longRows time the pages of a trial of a million requests, and of one of these.
func longRows(dir string) ([]labbench.Row, error) {
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
		atMost("s to the page of a trial of 1 million requests", middle(times[0]), 1),
		atMost("s to the page of one of its requests", middle(times[1]), 0.3),
	}
	out[0].How = "both sides: 8 figures of distribution and course, thinned to 2000 points, checksums compared"
	return out, nil
}

// asked begins a server, asks it for the list or, of the only result, for pages one
// after the other, and returns how long each took, in s.
func asked(o web.Options, pages ...string) ([]float64, error) {
	s, err := web.New(o)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	var h *http.Server
	begun := make(chan struct{})
	go func() {
		ended <- s.Serve(l, "", "", func(x *http.Server) { h = x; close(begun) })
	}()
	<-begun
	base := "http://" + l.Addr().String() + "/"
	if len(pages) > 1 && pages[1] != pages[0] { // those of a result
		base += "r/" + s.IDs()[0] + "/"
	}
	var out []float64
	for _, p := range pages {
		at := time.Now()
		a, err := http.Get(base + p)
		if err != nil {
			return nil, errors.Join(err, h.Close())
		}
		_, err = io.Copy(io.Discard, a.Body)
		a.Body.Close()
		out = append(out, time.Since(at).Seconds())
		if err != nil || a.StatusCode != http.StatusOK {
			return nil, errors.Join(fmt.Errorf("%s: %s: %w", p, a.Status, err), h.Close())
		}
	}
	return out, errors.Join(h.Close(), <-ended)
}
