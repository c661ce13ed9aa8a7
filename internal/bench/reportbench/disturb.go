package reportbench

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"edgegauge.example/edgegauge/internal/bench/labbench"
	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/web"
)

// pairs are blocks of a study with readers, each beside one without.
const pairs = 40

// How many read the page, and how many of them never take what it sends.
const readersAll, readersDeaf = 10, 5

// disturbed names the studies whose trials are watched.
var disturbed = []struct{ name, text string }{
	{"phantom", "study: phantom\nservice: monitor\nstack: phantom\noptions: {processing: 1ms}\nrequests: 300\n"},
	{"quickstart", "study: quick\nservice: monitor\nfactors: {stack: [rest-json, coap-cbor]}\nrequests: 1000\n"},
}

// disturbanceRows compare trials while ten read the page of their study with trials while
// nobody does, block by block of one run.
func disturbanceRows(ctx context.Context, b *labbench.Bench) ([]labbench.Row, error) {
	dir, err := os.MkdirTemp(b.Dir, "disturb-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	var rows []labbench.Row
	for _, d := range disturbed {
		more, err := disturb(ctx, b, dir, d.name, d.text)
		if err != nil {
			return rows, fmt.Errorf("%s: %w", d.name, err)
		}
		rows = append(rows, more...)
	}
	rows[0].How = fmt.Sprintf("%d pairs of neighbouring blocks of one run: in one, %d pages watch its study through "+
		"edgegauge web, %d of which never read; in the other none; which is first alternates; geometric mean of the "+
		"ratios of the trials' mean RTT, 95 %% interval", pairs, readersAll, readersDeaf)
	return rows, nil
}

func disturb(ctx context.Context, b *labbench.Bench, dir, name, text string) ([]labbench.Row, error) {
	file, out := filepath.Join(dir, name+".yaml"), filepath.Join(dir, name)
	text += fmt.Sprintf("retries: 100\nresponses: [rtt]\ndesign: {replications: %d, warmup: 50, cooldown: 200ms, "+
		"seed: 1}\n", 2*pairs)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return nil, err
	}
	if err := os.Mkdir(out, 0o755); err != nil {
		return nil, err
	}
	page, address, err := servePage(ctx, b.Exe, out)
	if err != nil {
		return nil, err
	}
	defer page()
	cmd := exec.CommandContext(ctx, b.Exe, "run", file, "--out", filepath.Join(out, "001"))
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	said, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	watching, last, failed := flip(bufio.NewScanner(said), address)
	watching.close()
	if err := cmd.Wait(); err != nil {
		return nil, fmt.Errorf("run: %w: %s", err, last)
	}
	if failed != nil {
		return nil, failed
	}
	return compareBlocks(name, filepath.Join(out, "001"))
}

// watched says whether the page is read during a block, from 1: in one of each pair.
func watched(block int) bool { return block%4 == 2 || block%4 == 3 }

var ended = regexp.MustCompile(`^(\d+)/(\d+)`)

// flip follows a run by what it prints, and lets readers come and go at the ends of blocks.
// Last is its last line.
func flip(lines *bufio.Scanner, address string) (now readers, last string, failed error) {
	for lines.Scan() {
		last = lines.Text()
		m := ended.FindStringSubmatch(last)
		if m == nil {
			continue
		}
		done, _ := strconv.Atoi(m[1]) // it is digits
		total, _ := strconv.Atoi(m[2])
		block := done*2*pairs/total + 1
		if want := watched(block); want != (now != nil) {
			now.close()
			now = nil
			if want && failed == nil {
				now, failed = watch(address)
			}
		}
	}
	return now, last, failed
}

// readers are connections of pages that watch.
type readers []net.Conn

func (r readers) close() {
	for _, c := range r {
		c.Close()
	}
}

// watch opens the streams of all readers.
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
		if i >= readersDeaf {
			go func() { _, _ = io.Copy(io.Discard, in) }() // until it is closed
		}
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
	if a, err := http.Get(u.String()); err == nil { // it is there
		a.Body.Close()
	}
	return end, u.Host, nil
}

// compareBlocks sets the blocks with readers against those beside them without.
func compareBlocks(name, dir string) ([]labbench.Row, error) {
	s, err := store.OpenReadOnly(dir)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	rtt := map[string]map[int]float64{} // of each treatment, by block
	for r, err := range s.Results() {
		if err != nil {
			return nil, err
		}
		if r.Side != measure.Client || r.Response != "rtt" {
			continue
		}
		treatment := name
		for _, l := range r.Treatment {
			treatment += " " + l.Text
		}
		if rtt[treatment] == nil {
			rtt[treatment] = map[int]float64{}
		}
		rtt[treatment][r.Block] = r.Mean
	}
	var rows []labbench.Row
	for treatment, means := range rtt {
		var logs []float64
		for block := 1; block < 2*pairs; block += 2 {
			a, b := means[block], means[block+1]
			if a <= 0 || b <= 0 {
				return nil, fmt.Errorf("%s: block %d or %d has no RTT", treatment, block, block+1)
			}
			if watched(block) {
				a, b = b, a
			}
			logs = append(logs, math.Log(b/a))
		}
		m, err := stat.Mean(logs, 0.95)
		if err != nil {
			return nil, err
		}
		rows = append(rows, disturbanceRow(treatment, m))
	}
	slices.SortFunc(rows, func(a, b labbench.Row) int { return strings.Compare(a.Figure, b.Figure) })
	return rows, nil
}

// disturbanceRow judges the change of an RTT: too small to matter, or not to be told from none.
func disturbanceRow(treatment string, logs stat.Summary) labbench.Row {
	percent := func(log float64) float64 { return 100 * math.Expm1(log) }
	row := labbench.Row{Figure: "% more RTT with readers, " + treatment, Wanted: "< 0.5 or none within the interval",
		Measured: fmt.Sprintf("%+.2f (%+.2f to %+.2f)", percent(logs.Center), percent(logs.Lo), percent(logs.Hi)),
		Verdict:  "not met"}
	switch {
	case percent(logs.Lo) > -0.5 && percent(logs.Hi) < 0.5:
		row.Verdict = "met: less than 0.5"
	case logs.Lo <= 0 && logs.Hi >= 0:
		row.Verdict = "met: no difference within the interval"
	}
	return row
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
		waits[changes/2])
	return row, nil
}
