package reportbench

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"edgegauge.example/edgegauge/internal/bench/labbench"
	"edgegauge.example/edgegauge/internal/lab/fabricated"
	"edgegauge.example/edgegauge/internal/web"
)

// seen is how many trials are awaited at the page.
const seen = 10

// liveRow times how long after its end a trial is at a page that watches.
func liveRow(dir string) (labbench.Row, error) {
	kept, plan, err := fabricated.Create(filepath.Join(dir, "run"), fabricated.Study(2, seen, 20))
	if err != nil {
		return labbench.Row{}, err
	}
	defer kept.Close()
	s, err := web.New(web.Options{Folders: []string{dir}})
	if err != nil {
		return labbench.Row{}, err
	}
	defer s.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return labbench.Row{}, err
	}
	begun, ended := make(chan *http.Server, 1), make(chan error, 1)
	go func() { ended <- s.Serve(l, "", "", func(h *http.Server) { begun <- h }) }()
	h := <-begun
	defer func() { _ = h.Close(); <-ended }()
	a, err := http.Get("http://" + l.Addr().String() + "/now/events")
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
	row.How = fmt.Sprintf("median %.2g", middle(delays))
	return row, nil
}
