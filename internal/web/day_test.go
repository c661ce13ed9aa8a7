package web

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/report/pagetest"
)

// Two labs measure, and two browsers watch both: each sees what either does. Then one of
// them stays open: a state each second leaves nothing behind in it. EDGEGAUGE_DAY=86400 is
// that of a whole day.
func TestTwoLabsTwoBrowsers(t *testing.T) {
	left, right := underWay(t, 20), underWay(t, 30)
	s := served(t, Options{Folders: []string{left.dir, right.dir}})
	h := httptest.NewServer(s.Handler())
	t.Cleanup(func() {
		s.hub.end()
		h.Close()
	})
	readers := []reader{{T: t, b: pagetest.Start(t), url: h.URL + "/"}, {T: t, b: pagetest.Start(t), url: h.URL + "/"}}
	both := func(texts ...string) {
		t.Helper()
		for _, r := range readers {
			r.b.Await(t, func() bool {
				live := r.text("#live")
				for _, x := range texts {
					if !strings.Contains(live, x) {
						return false
					}
				}
				return true
			}, strings.Join(texts, ", "))
		}
	}
	for i, r := range readers {
		r.as(looks[i])
		r.open("now/")
	}
	both("0 of 40", "0 of 60")
	left.conduct(3)
	right.conduct(5)
	both("3 of 40", "5 of 60")
	right.fail("the rain")
	left.conduct(1)
	both("4 of 40", "the rain")
	for _, r := range readers {
		if n := r.count("section.run"); n != 2 {
			t.Errorf("%d runs are shown", n)
		}
		r.b.Clean(t, r.url)
	}
	ok(t, left.kept.Close())
	ok(t, right.kept.Close())
	both("ended")
	day := 600
	fmt.Sscan(os.Getenv("EDGEGAUGE_DAY"), &day)
	readers[0].stays(s, day)
}

// stays has a page take that many states, whose figures all change, and compares its heap and
// elements with those after the first.
func (r reader) stays(s *Server, states int) {
	r.Helper()
	t := r.T
	s.hub.mu.Lock()
	close(s.hub.stop) // nobody looks any more: the states are the test's
	s.hub.stop = make(chan struct{})
	var x struct{ Live, Says string }
	ok(t, json.Unmarshal(s.hub.now.data, &x))
	s.hub.mu.Unlock()
	if strings.Count(x.Live, "4 of 40") == 0 {
		t.Fatalf("the state says %s", x.Live)
	}
	r.b.Eval(t, nil, `window.changes = 0; new MutationObserver(() => window.changes++).observe(`+
		`document.getElementById("live"), {childList: true, subtree: true})`)
	sent := 0
	push := func(n int) {
		for range n {
			sent++
			html := strings.ReplaceAll(x.Live, "4 of 40", fmt.Sprintf("%d of 40", sent))
			html = strings.ReplaceAll(html, "µs", fmt.Sprintf("%d µs", sent%977)) // figures, table and picture
			data, err := json.Marshal(map[string]any{"live": html, "says": fmt.Sprint(sent)})
			ok(t, err)
			s.hub.mu.Lock()
			close(s.hub.now.next)
			s.hub.now = state{version: s.hub.now.version, number: s.hub.now.number + 1, data: data, next: make(chan struct{})}
			s.hub.mu.Unlock()
			time.Sleep(time.Millisecond) // a page that is slow would be spared states
		}
		r.b.Await(t, func() bool { return strings.Contains(r.text("#live"), fmt.Sprintf("%d of 40", sent)) }, "the last")
	}
	count := func() (changes int) {
		r.b.Eval(t, &changes, "window.changes")
		return changes
	}
	heap := func() (used float64, nodes int) {
		used, err := r.b.Heap()
		ok(t, err)
		return used, r.count("*")
	}
	push(300)
	seen := count()
	before, nodes := heap()
	for count()-seen < states {
		push(min(states, 300))
	}
	after, now := heap()
	t.Logf("%d states changed the page: heap %.2f MB, then %.2f MB; %d elements, then %d",
		count()-seen, before/1e6, after/1e6,
		nodes, now)
	if after-before > 2e6 || now != nodes {
		t.Errorf("%d states left %.0f B behind, and %d elements became %d", count()-seen, after-before, nodes, now)
	}
}
