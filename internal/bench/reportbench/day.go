package reportbench

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"edgegauge.example/edgegauge/internal/bench/labbench"
	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/lab/fabricated"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/report/chromium"
	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/study"
	"edgegauge.example/edgegauge/internal/web"
)

// ofDay is how many states a page is sent in a day; EDGEGAUGE_DAY is another number, to try the bench.
const ofDay = 24 * 60 * 60

// Trials of the study that is watched: one ends every hundredth part of the day.
const dayTrials = 100

// mostGrowth is what a day may leave behind, in MB.
const mostGrowth = 2

// dayRows have a page watch a study for as many states as a day has, in quick succession,
// and weigh browser and server before and afterwards.
func dayRows(ctx context.Context, b *labbench.Bench) ([]labbench.Row, error) {
	states := ofDay
	if n, err := strconv.Atoi(os.Getenv("EDGEGAUGE_DAY")); err == nil {
		states = n
	}
	figure := fmt.Sprintf("MB more in the browser after %d states", states)
	if _, err := chromium.Find(); err != nil {
		return []labbench.Row{noBrowser(figure, fmt.Sprintf("≤ %d", mostGrowth))}, nil
	}
	dir, err := os.MkdirTemp(b.Dir, "daybench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	kept, plan, err := fabricated.Create(filepath.Join(dir, "results/001"), fabricated.Study(2, dayTrials/2+20, 20))
	if err != nil {
		return nil, err
	}
	defer kept.Close()
	base, end, err := serve(web.Options{Folders: []string{filepath.Join(dir, "results")}, Pace: time.Millisecond})
	if err != nil {
		return nil, err
	}
	defer end()
	page, err := chromium.Start(filepath.Join(dir, "profile"))
	if err != nil {
		return nil, err
	}
	defer page.Close()
	d := day{page: page, kept: kept, plan: plan}
	before, after, err := d.pass(ctx, base+"now/", states)
	if err != nil {
		return nil, err
	}
	rows := []labbench.Row{atMost(figure, (after.browser-before.browser)/1e6, mostGrowth),
		atMost("MB more in the server and the played lab", (after.server-before.server)/1e6, mostGrowth)}
	rows[0].How = fmt.Sprintf("a tab of headless Chromium on Now, %d states, %.1f times faster than one a second, %d "+
		"trials among them; heaps after a collection: browser %.2f, then %.2f MB; server %.2f, then %.2f MB; "+
		"%d elements, then %d",
		states, float64(states)/d.took.Seconds(), dayTrials, before.browser/1e6, after.browser/1e6, before.server/1e6,
		after.server/1e6, before.elements, after.elements)
	return rows, nil
}

// A day is one that passes in quick succession.
type day struct {
	page *chromium.Browser
	kept *store.Store
	plan study.Plan
	next int // trial
	took time.Duration
}

// A weight is what a browser's page and this process hold.
type weight struct {
	browser, server float64 // B
	elements        int
}

// pass has the page take the states. The first tenth is no part of it: figures and courses
// grow to their full length.
func (d *day) pass(ctx context.Context, address string, states int) (before, after weight, err error) {
	told, err := kernel.NewNotice(web.NoticeName)
	if err != nil {
		return before, after, err
	}
	defer told.Close()
	stop, stopped := make(chan struct{}), make(chan struct{})
	defer func() { close(stop); <-stopped }()
	go func() { // a meter, whose every value is another
		defer close(stopped)
		for i := int64(0); ; i++ {
			text, _ := json.Marshal(web.LabNotice{Step: "measure", At: time.Now().UnixMilli(),
				Watts: map[measure.Side]float64{measure.Client: 2 + float64(i%977)/1000}})
			told.Write(text)
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()
	if err := d.page.Go(address); err != nil {
		return before, after, err
	}
	if err := d.page.Value(nil, `{window.states = 0; const live = document.getElementById("live"); `+
		`new MutationObserver(() => window.states++).observe(live, {childList: true, subtree: true})}`); err != nil {
		return before, after, err
	}
	for _, part := range []struct {
		states, trials int
		to             *weight
	}{{states / 10, 20, &before}, {states, dayTrials, &after}} {
		began := time.Now()
		if err := d.take(ctx, part.states, part.trials); err != nil {
			return before, after, err
		}
		d.took = time.Since(began)
		if *part.to, err = d.weigh(); err != nil {
			return before, after, err
		}
	}
	return before, after, nil
}

// take has the page take states, and commits trials meanwhile.
func (d *day) take(ctx context.Context, states, trials int) error {
	var from, now int
	if err := d.page.Value(&from, "window.states"); err != nil {
		return err
	}
	for done, seen := 0, time.Now(); now-from < states; {
		for ; done < trials && (now-from)*trials >= done*states; done++ {
			if err := fabricated.Trial(d.kept, d.plan.Trials[d.next], 20, nil); err != nil {
				return err
			}
			d.next++
		}
		time.Sleep(100 * time.Millisecond)
		d.page.Forget() // the driver would keep each state: 70 kB
		last := now
		if err := d.page.Value(&now, "window.states"); err != nil {
			return err
		}
		if now != last {
			seen = time.Now()
		}
		if time.Since(seen) > chromium.Slow || ctx.Err() != nil {
			return fmt.Errorf("the page took %d of %d states, then none for %v", now-from, states, time.Since(seen))
		}
	}
	var text string
	want := fmt.Sprintf("%d of %d", d.next, len(d.plan.Trials))
	for limit := time.Now().Add(chromium.Slow); !strings.Contains(text, want); time.Sleep(100 * time.Millisecond) {
		if err := d.page.Value(&text, `document.getElementById("live").textContent`); err != nil {
			return err
		}
		if time.Now().After(limit) {
			return fmt.Errorf("the page does not say %s: %.300s", want, text)
		}
	}
	return nil
}

func (d *day) weigh() (w weight, err error) {
	if err = d.page.Value(&w.elements, `document.querySelectorAll("*").length`); err != nil {
		return w, err
	}
	if w.browser, err = d.page.Heap(); err != nil {
		return w, err
	}
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	w.server = float64(m.HeapAlloc)
	return w, nil
}
