package reportbench

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"edgegauge.example/edgegauge/internal/bench/labbench"
	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/lab/fabricated"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/web"
)

// liveRows time what is between a lab and a page that watches.
func liveRows(_ context.Context, b *labbench.Bench) ([]labbench.Row, error) {
	dir, err := os.MkdirTemp(b.Dir, "livebench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	wait, err := waitRow()
	if err != nil {
		return nil, err
	}
	live, err := liveRow(dir)
	return []labbench.Row{wait, live}, err
}

// changes is how often the lab's wait is timed.
const changes = 20_000

// waitRow times what a lab does to tell pages of a change, while one reads all the time.
func waitRow() (labbench.Row, error) {
	n, err := kernel.NewNotice("edgegauge-waits")
	if err != nil {
		return labbench.Row{}, err
	}
	defer n.Close()
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
				_, _ = kernel.ReadNotice(os.Getpid(), "edgegauge-waits") // another look comes
			}
		}
	}()
	var waits []float64
	for i := range changes {
		at := time.Now()
		text, err := json.Marshal(web.LabNotice{Step: "measure", At: int64(i),
			Watts: map[measure.Side]float64{measure.Client: 2.5, measure.Server: 1.25}})
		if err != nil {
			return labbench.Row{}, err
		}
		n.Write(text)
		waits = append(waits, time.Since(at).Seconds()*1e6)
	}
	close(stop)
	<-stopped
	slices.Sort(waits)
	row := atMost("µs the lab waits for a change, p99", waits[changes*99/100], 10)
	row.How = fmt.Sprintf("%d changes written while a page reads 1000 times a second; median %.2g", changes,
		stat.Middle(waits))
	return row, nil
}

// seen is how many trials are awaited at the page.
const seen = 10

// liveRow times how long after its end a trial is at a page that watches.
func liveRow(dir string) (labbench.Row, error) {
	kept, plan, err := fabricated.Create(filepath.Join(dir, "run"), fabricated.Study(2, seen, 20))
	if err != nil {
		return labbench.Row{}, err
	}
	defer kept.Close()
	base, end, err := serve(web.Options{Folders: []string{dir}})
	if err != nil {
		return labbench.Row{}, err
	}
	defer end()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	ask, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"now/events", nil)
	if err != nil {
		return labbench.Row{}, err
	}
	a, err := http.DefaultClient.Do(ask)
	if err != nil {
		return labbench.Row{}, err
	}
	defer a.Body.Close()
	in := bufio.NewReader(a.Body)
	until := func(what string) error {
		for {
			line, err := in.ReadString('\n')
			if err != nil || strings.Contains(line, what) {
				return err
			}
		}
	}
	if err := until(fmt.Sprintf("0 of %d trials valid", len(plan.Trials))); err != nil {
		return labbench.Row{}, err
	}
	var delays []float64
	for i, t := range plan.Trials[:seen] { // of a second each, in no step with the page
		time.Sleep(1100*time.Millisecond + time.Duration(37*i)*time.Millisecond)
		if err := fabricated.Trial(kept, t, 20, nil); err != nil {
			return labbench.Row{}, err
		}
		at := time.Now()
		if err := until(fmt.Sprintf("%d of %d trials valid", i+1, len(plan.Trials))); err != nil {
			return labbench.Row{}, err
		}
		delays = append(delays, time.Since(at).Seconds())
	}
	row := atMost(fmt.Sprintf("s from the end of a trial to the page, the slowest of %d", seen), slices.Max(delays), 0.3)
	row.How = fmt.Sprintf("median %.2g", stat.Middle(delays))
	return row, nil
}
