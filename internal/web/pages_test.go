package web

import (
	"fmt"
	"mime"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/lab/fabricated"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/report"
	"edgegauge.example/edgegauge/internal/store"
)

// The list is filtered by what the address says, and says it again in its form.
func TestListIsFiltered(t *testing.T) {
	s := served(t, Options{Folders: []string{house(t)}})
	today, tomorrow := time.Now().Format(time.DateOnly), time.Now().AddDate(0, 0, 1).Format(time.DateOnly)
	for query, want := range map[string]int{"": 3, "?q=wire": 1, "?q=ALPHA+report": 2, "?q=nothing": 0, "?study=wired": 1,
		"?stack=rest-json": 2, "?stack=coap-json&study=report-bench": 0, "?device=local": 3,
		"?device=board": 0, "?link=none": 3,
		"?state=complete": 3, "?state=running": 0, "?to=" + tomorrow: 3, "?from=" + tomorrow: 0,
		"?from=" + today + "&q=002": 1,
		"?to=2020-01-01":            0, "?from=nonsense": 3, "?page=7": 3} {
		body := shows(t, s, "/"+query, fmt.Sprintf(`id="count">%d of 3 results`, want))
		if got := strings.Count(body, `href="r/`); got != want {
			t.Errorf("%s: %d results are listed, want %d", query, got, want)
		}
	}
	shows(t, s, "/?study=wired&q=a%26b", `<option selected>wired</option>`, `value="a&amp;b"`)
}

// A long list is cut into pages that lead to each other and keep the query.
func TestListHasPages(t *testing.T) {
	dir := t.TempDir()
	one := filepath.Join(dir, "000")
	ok(t, fabricated.Make(one, 2, 1, 5))
	for i := 1; i < perPage+5; i++ {
		ok(t, os.CopyFS(filepath.Join(dir, fmt.Sprintf("%03d", i)), os.DirFS(one)))
	}
	s := served(t, Options{Folders: []string{dir}})
	first := shows(t, s, "/?q=report", fmt.Sprintf("%d of %[1]d results", perPage+5), `href="?page=1&amp;q=report"`)
	second := shows(t, s, "/?page=1&q=report", `href="?q=report"`)
	if a, b := strings.Count(first, `href="r/`), strings.Count(second, `href="r/`); a != perPage || b != 5 {
		t.Errorf("got %d and %d results, want %d and 5", a, b, perPage)
	}
	if len(first) > 300_000 {
		t.Errorf("a page of %d results has %d B", perPage, len(first))
	}
}

// A ledger that was written just now may be written again with the same size and time: what was read of it is not kept.
func TestLedgerOfJustNowIsReadAgain(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, ledgerFile)
	ok(t, os.WriteFile(file, []byte("a"), 0o644))
	root, err := os.OpenRoot(dir)
	ok(t, err)
	defer root.Close()
	f := &folder{path: dir, root: root}
	key := func(changed time.Time) string {
		ok(t, os.Chtimes(file, changed, changed))
		st, err := os.Stat(file)
		ok(t, err)
		return f.place(".", st).key
	}
	for _, tt := range []struct {
		changed time.Time
		same    bool
	}{{time.Now().Add(coarse), false}, {time.Now().Add(-time.Minute), true}} {
		if first, then := key(tt.changed), key(tt.changed); (first == then) != tt.same {
			t.Errorf("changed at %v: the keys are %s and %s", tt.changed, first, then)
		}
	}
}

// aged has the ledger of a result be an hour old.
func aged(t *testing.T, dir string) {
	t.Helper()
	hourAgo := time.Now().Add(-time.Hour)
	ok(t, os.Chtimes(filepath.Join(dir, ledgerFile), hourAgo, hourAgo))
}

// The index reads a ledger once, in memory and over a new start, until it changes.
func TestIndexReadsWhatChanged(t *testing.T) {
	dir, cache := t.TempDir(), t.TempDir()
	made := filepath.Join(dir, "a")
	kept, plan, err := fabricated.Create(made, fabricated.Study(2, 2, 20))
	ok(t, err)
	ok(t, fabricated.Trial(kept, plan.Trials[0], 20, nil))
	ok(t, kept.Close())
	aged(t, made)
	valid := func(s *Server) int { return s.index.of(s.places())[0].Valid }
	if got := valid(served(t, Options{Folders: []string{dir}, Cache: cache})); got != 1 {
		t.Fatalf("got %d valid trials, want 1", got)
	}
	file := filepath.Join(cache, "web-index.json")
	text, err := os.ReadFile(file)
	ok(t, err)
	ok(t, os.WriteFile(file, []byte(strings.Replace(string(text), `"Valid":1`, `"Valid":77`, 1)), 0o644))
	s := served(t, Options{Folders: []string{dir}, Cache: cache})
	if got := valid(s); got != 77 { // it was not read again
		t.Errorf("got %d, want the 77 of the file", got)
	}
	kept, err = store.Open(made, header(t, made))
	ok(t, err)
	ok(t, fabricated.Trial(kept, plan.Trials[1], 20, nil))
	defer kept.Close()
	if got := valid(s); got != 2 { // though the ledger itself has not changed: its log has
		t.Errorf("got %d valid trials, want 2", got)
	}
	ok(t, os.WriteFile(file, []byte("{"), 0o644))
	if got := valid(served(t, Options{Folders: []string{dir}, Cache: cache})); got != 2 {
		t.Errorf("with a damaged index: got %d", got)
	}
}

// Results that are copied file by file, or mended, are read again though their ledger stays as it is, also by a later
// server.
func TestWhatArrivesLaterIsRead(t *testing.T) {
	dir, cache, away := t.TempDir(), t.TempDir(), t.TempDir()
	made := filepath.Join(dir, "run/001")
	ok(t, fabricated.Make(made, 2, 3, 20))
	aged(t, made)
	const raw = "exchanges/0001-1-client.parquet"
	move := func(from, to, name string) {
		t.Helper()
		ok(t, os.Rename(filepath.Join(from, name), filepath.Join(to, filepath.Base(name))))
	}
	impatient := func() *Server {
		s := served(t, Options{Folders: []string{dir}, Cache: cache})
		s.index.faults, s.reports.faults = 0, 0
		return s
	}
	move(made, away, "study.yaml")
	move(made, away, raw)
	s := impatient()
	p := s.places()[0]
	shows(t, s, "/", "cannot be read: ")
	if s.pasts.one(p).Failed == "" {
		t.Error("without its study a result is a run of a history")
	}
	move(away, made, "study.yaml")
	for _, x := range []*Server{s, served(t, Options{Folders: []string{dir}, Cache: cache})} {
		if page := shows(t, x, "/", ">report-bench</a>"); strings.Contains(page, "cannot be read") {
			t.Error("what arrived is not read")
		}
	}
	if why := s.pasts.one(p).Failed; why != "" {
		t.Errorf("in a history: %s", why)
	}
	to := "/r/" + p.id + "/"
	shows(t, s, to, "These results have changed since the lab wrote them")
	move(away, filepath.Join(made, "exchanges"), filepath.Base(raw))
	if page := shows(t, s, to); strings.Contains(page, "have changed since") {
		t.Error("a file that arrived is missed")
	}
}

// header is what resumes results.
func header(t *testing.T, dir string) store.Header {
	t.Helper()
	s, err := store.OpenReadOnly(dir)
	ok(t, err)
	defer s.Close()
	text, overrides, err := s.Study()
	ok(t, err)
	plan, err := s.Plan()
	ok(t, err)
	trials, err := s.Trials()
	ok(t, err)
	h := store.Header{Study: text, Overrides: overrides, Plan: plan, Facts: []byte(`{}`)}
	for _, x := range trials {
		h.Trials = append(h.Trials, x.PlannedTrial)
	}
	return h
}

// The page of a result has the report's own parts, byte for byte.
func TestResultIsTheReport(t *testing.T) {
	dir := house(t)
	s := served(t, Options{Folders: []string{dir}, Finish: func(dir string, r *report.Report) {
		r.Next = []report.Step{{What: "look", Command: "edgegauge look " + dir}}
	}})
	kept, err := store.OpenReadOnly(filepath.Join(dir, "alpha/001"))
	ok(t, err)
	defer kept.Close()
	r, err := report.Read(kept)
	ok(t, err)
	ok(t, r.ReadRaw(kept, report.PageTraces))
	r.Next = []report.Step{{What: "look", Command: "edgegauge look " + filepath.Join(dir, "alpha/001")}}
	var parts strings.Builder
	ok(t, r.Parts(&parts))
	body := shows(t, s, "/r/"+id(t, s, "alpha/001")+"/", parts.String(), `<script src="../../assets/explore.js" defer>`)
	if strings.Contains(body, "have not been read") {
		t.Error("the raw files of a small result were not read")
	}
}

// Of many records the page reads the ledger first, and says so.
func TestLargeResultsOpenFromTheLedger(t *testing.T) {
	dir := t.TempDir()
	made := filepath.Join(dir, "large")
	ok(t, fabricated.Make(made, 2, 2, 20))
	aged(t, made)
	s := served(t, Options{Folders: []string{dir}})
	s.reports.most = 100 // of 2 × 2 × 2 × 20 records
	to := "/r/" + id(t, s, "large") + "/"
	// A damaged file is not noticed before it is read.
	ok(t, os.Truncate(filepath.Join(made, "exchanges/0001-1-client.parquet"), 100))
	first := shows(t, s, to, "The 160 records in the raw files have not been read", `href="?whole=1"`)
	if strings.Contains(first, "Distribution of requests") {
		t.Error("there are distributions without raw files")
	}
	shows(t, s, to+"?whole=1", "These results have changed since the lab wrote them")
	if again := shows(t, s, to); !strings.Contains(again, "These results have changed") {
		t.Error("what was read is forgotten")
	}
}

// The phases of a trial are all that its requests recorded, and not those alone that the study asks for.
func TestATrialShowsAllPhases(t *testing.T) {
	dir := t.TempDir()
	kept, plan, err := fabricated.Create(filepath.Join(dir, "few/001"), []byte("study: few\nservice: monitor\n"+
		"stack: rest-json\nrequests: 50\ndesign: {replications: 2, seed: 1}\nresponses: [rtt, total_time]\n"))
	ok(t, err)
	for _, x := range plan.Trials {
		a, err := kept.Begin(x.ID)
		ok(t, err)
		var results []store.Result
		for _, side := range []measure.Side{measure.Client, measure.Server} {
			w, err := a.Exchanges(side)
			ok(t, err)
			for i := range 50 {
				at := time.Duration(i) * time.Millisecond
				e := measure.Exchange{Seq: uint64(i + 1), Serialization: 2000, Deserialization: 4000, Total: 106000}
				if side == measure.Client {
					e.Due, e.Sent, e.Done = at, at+2000, at+102000
				} else {
					e.Processing = 5000
				}
				ok(t, w.Append([]measure.Exchange{e}))
			}
			ok(t, w.Close())
			for name, v := range map[string]float64{"rtt": 1e-4, "total_time": 1.06e-4} {
				if name == "total_time" || side == measure.Client {
					results = append(results, store.Result{Side: side, Response: name, Unit: "s", N: 50, Mean: v, SD: v / 10,
						Median: v, P95: v, Min: v, Max: v, Method: store.Measured})
				}
			}
		}
		ok(t, a.Commit(results, nil))
	}
	ok(t, kept.Close())
	s := served(t, Options{Folders: []string{dir}})
	body := shows(t, s, "/r/"+id(t, s, "few/001")+"/t/1/")
	for _, want := range []string{`Mean phases at the client, by its own clock: serialization [^;]+; request and response ` +
		`on their way \(RTT\) [^;]+; deserialization [^;]+; total `,
		`Mean phases at the server, by its own clock: deserialization [^;]+; processing [^;]+; serialization [^;]+; total `} {
		if !regexp.MustCompile(want).MatchString(body) {
			t.Errorf("no %s in %s", want, regexp.MustCompile("Mean phases at the [^<]*").FindAllString(body, -1))
		}
	}
}

// A trial and its requests: figures of the files, packets of the right request.
func TestTrialAndRequest(t *testing.T) {
	s := served(t, Options{Folders: []string{house(t)}})
	trial := "/r/" + id(t, s, "wired/001") + "/t/2/"
	body := shows(t, s, trial, "Trial 2: coap-json", "40 requests were recorded",
		"Mean phases at the client, by its own clock",
		"Mean phases at the server, by its own clock", "0002-1-lo.pcapng", "serve.log",
		"RTT at the client of the 40 requests",
		"trial 1, before it", "trial 3, after it")
	if n := strings.Count(body, `/x/`); n != mostPicks {
		t.Errorf("%d requests are named, want %d", n, mostPicks)
	}
	for _, seq := range []int{1, 7, wiredRequests} {
		// Each request says its number on the wire; the warm-up's are not among them.
		page := shows(t, s, fmt.Sprintf("%sx/%d/", trial, seq), "the client&#39;s clock", "2 packets,", "client → server",
			"server → client", "500 µs")
		dump := regexp.MustCompile(`\|([^|]+)\|`).FindAllStringSubmatch(page, -1)
		var said strings.Builder
		for _, m := range dump {
			said.WriteString(m[1])
		}
		if !regexp.MustCompile(fmt.Sprintf(`request %d\D`, seq)).MatchString(said.String()) {
			t.Errorf("request %d: its packets say %q", seq, said.String())
		}
	}
	if w := get(t, s, trial+"x/?seq=5"); w.Code != 303 || w.Header().Get("Location") != trial+"x/5/" {
		t.Errorf("the form led to %d %q", w.Code, w.Header().Get("Location"))
	}
	for _, to := range []string{"t/9/", "t/x/", "t/2/x/41/", "t/2/x/0/", "t/2/a/2/serve.log",
		"t/2/packets/0001-1-lo.pcapng"} {
		if w := get(t, s, "/r/"+id(t, s, "wired/001")+"/"+to); w.Code != 404 {
			t.Errorf("%s: got %d, want 404", to, w.Code)
		}
	}
	file := get(t, s, trial+"packets/0002-1-lo.pcapng")
	if file.Code != 200 || !strings.Contains(file.Header().Get("Content-Disposition"), "attachment") ||
		file.Body.Len() < 1000 {
		t.Errorf("the capture: %d, %v, %d B", file.Code, file.Header(), file.Body.Len())
	}
}

// Where a client sent a request a second time, its packets and those of the others cannot be told apart.
func TestRepeatedRequestsHaveNoPackets(t *testing.T) {
	dir := t.TempDir()
	kept, plan, err := fabricated.Create(filepath.Join(dir, "a"), []byte("study: wired\nservice: echo\nstack: coap-json\n"+
		"requests: 3\ndesign: {replications: 2}\npackets: keep\n"))
	ok(t, err)
	for i, trial := range plan.Trials {
		a, err := kept.Begin(trial.ID)
		ok(t, err)
		w, err := a.Exchanges(measure.Client)
		ok(t, err)
		ok(t, w.Append([]measure.Exchange{{Seq: 1, Sent: 1, Done: 2}, {Seq: 2, Sent: 3, Done: 4},
			{Seq: 3, Sent: 5, Done: 6}}))
		ok(t, w.Close())
		p, err := a.Packets("lo")
		ok(t, err)
		ok(t, capture(p, 1+3+i)) // the warm-up's, three, and one that was sent again
		ok(t, p.Close())
		ok(t, a.Keep("ready.json", []byte(`{"server": {"url": "coap://127.0.0.1:5683/echo"}}`)))
		var noted []store.Quality
		if i > 0 {
			noted = append(noted, store.Quality{Key: "repetitions", Unit: "1", Value: float64(i)})
		}
		ok(t, a.Commit([]store.Result{{Side: measure.Client, Response: "rtt", Unit: "s", N: 3, Mean: 1e-9, Median: 1e-9,
			Method: store.Measured}}, noted))
	}
	ok(t, kept.Close())
	s := served(t, Options{Folders: []string{dir}})
	one := "/r/" + id(t, s, "a") + "/t/"
	shows(t, s, one+"1/x/2/", "2 packets,")
	page := shows(t, s, one+"2/x/2/", "The client sent 1 request a second time")
	if strings.Contains(page, "packets, ") || strings.Contains(page, "client → server") {
		t.Error("it has packets all the same")
	}
}

// With several requests under way no record of the server is called the client's.
func TestSidesAreNotPairedWhereTheyCannotBe(t *testing.T) {
	dir := t.TempDir()
	kept, plan, err := fabricated.Create(filepath.Join(dir, "a"), []byte("study: many\nservice: echo\nstack: rest-json\n"+
		"factors: {concurrency: [1, 4]}\nrequests: 20\ndesign: {replications: 1}\n"))
	ok(t, err)
	for _, trial := range plan.Trials {
		ok(t, fabricated.Trial(kept, trial, 20, nil))
	}
	ok(t, kept.Close())
	s := served(t, Options{Folders: []string{dir}})
	for _, trial := range plan.Trials {
		page := shows(t, s, fmt.Sprintf("/r/%s/t/%d/x/3/", id(t, s, "a"), trial.ID))
		alone := trial.Setup.Concurrency == 1
		if strings.Contains(page, "by the server&#39;s clock") != alone ||
			strings.Contains(page, "in flight at once") == alone {
			t.Errorf("concurrency %d: the server's record is shown or not, wrongly", trial.Setup.Concurrency)
		}
	}
}

// A comparison is that of the command line, and names what was asked differently.
func TestCompare(t *testing.T) {
	dir := house(t)
	s := served(t, Options{Folders: []string{dir}})
	a, b, c := id(t, s, "alpha/001"), id(t, s, "alpha/002"), id(t, s, "wired/001")
	shows(t, s, "/compare/", "Choose two results", a, b, c)
	page := shows(t, s, "/compare/?all=1&r="+a+"&r="+b, `<th scope="row">requests</th><td>300</td><td>400</td>`,
		"100B rtt, client")
	var old, new *report.Report
	for _, x := range []struct {
		name string
		to   **report.Report
	}{{"alpha/001", &old}, {"alpha/002", &new}} {
		kept, err := store.OpenReadOnly(filepath.Join(dir, x.name))
		ok(t, err)
		defer kept.Close()
		*x.to, err = report.Read(kept)
		ok(t, err)
	}
	want, err := report.Compare(old, new, report.Terms{Confidence: 0.95, Margin: 0.05})
	ok(t, err)
	want.All = true
	rows, _ := want.Rows()
	for _, row := range rows[1:] {
		if !strings.Contains(page, `<th scope="row">`+row[0]+`</th><td>`+strings.Join(row[1:], "</td><td>")+"</td>") {
			t.Errorf("no row %q", row)
		}
	}
	pinned := shows(t, s, "/compare/?all=1&r="+a+"&r="+b+"&base="+b)
	if !strings.Contains(pinned, `<th scope="row">requests</th><td>400</td><td>300</td>`) {
		t.Error("the baseline pinned is not the first")
	}
	shows(t, s, "/compare/?r="+a+"&r="+b+"&r="+c, "no treatments in common", "factor size")
	if w := get(t, s, "/compare/?r="+a+"&r=none"); w.Code != 404 {
		t.Errorf("a result that is not there: %d", w.Code)
	}
}

// A verdict on results that are being measured, or of which only the ledger was read, says so, and what is still to be
// measured is not lost.
func TestCompareSaysWhatItRestsOn(t *testing.T) {
	l := underWay(t, 3)
	l.conduct(4)
	ok(t, fabricated.Make(filepath.Join(l.dir, "done/001"), 2, 3, 20))
	s := served(t, Options{Folders: []string{l.dir}})
	to := "/compare/?r=" + id(t, s, "done/001") + "&r=" + id(t, s, "run/001")
	const unread = "only the ledger was read: its files were not compared with their checksums"
	page := shows(t, s, to, "run/001 is being measured: 4 of 6 trials are valid so far.", "figures: ")
	if strings.Contains(page, "worse: ") || strings.Contains(page, "lost trials") || strings.Count(page, unread) != 1 {
		t.Errorf("got %s", page)
	}
	ok(t, l.kept.Close())
	// Those that were never run are missing, and not lost.
	page = shows(t, s, to, "of 3 trials are valid", "run/001 is unfinished, 4 of 6 trials valid;")
	if strings.Contains(page, "is being measured") || strings.Contains(page, unread) ||
		strings.Contains(page, "worse: ") || strings.Contains(page, "undecided: ") || strings.Contains(page, "lost trials") {
		t.Errorf("of what was stopped: %s", page)
	}
	s = served(t, Options{Folders: []string{l.dir}})
	s.reports.most = 1
	if page := shows(t, s, to); strings.Count(page, unread) != 2 {
		t.Errorf("of large results: %s", page)
	}
}

// Figures of different loads are shown, and no verdict, as the command line refuses them.
func TestComparedLoadsGiveNoVerdict(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"1", "1b", "4"} {
		kept, plan, err := fabricated.Create(filepath.Join(dir, name), []byte("study: many\nservice: echo\n"+
			"stack: rest-json\nconcurrency: "+name[:1]+"\nrequests: 20\ndesign: {replications: 3}\n"))
		ok(t, err)
		for _, trial := range plan.Trials {
			ok(t, fabricated.Trial(kept, trial, 20, nil))
		}
		ok(t, kept.Close())
	}
	s := served(t, Options{Folders: []string{dir}})
	const none = "No verdict: the two are of different loads, not of two versions under one: concurrency: 1 before, 4 now."
	shows(t, s, "/compare/?all=1&r="+id(t, s, "1")+"&r="+id(t, s, "4"), none, "rtt, client")
	if page := shows(t, s, "/compare/?r="+id(t, s, "1")+"&r="+id(t, s, "1b")); strings.Contains(page, "No verdict") {
		t.Error("no verdict on equal loads")
	}
	for name, study := range map[string]string{"low": "study: many\nfactors: {way: [{name: v, n: 3}, {name: w, n: 9}]}\n",
		"high":  "study: many\nfactors: {way: [{name: v, n: 3}, {name: w, n: 90}]}\n",
		"named": "study: other\nconcurrency: 4\n"} {
		kept, plan, err := fabricated.Create(filepath.Join(dir, name), []byte(study+"service: echo\nstack: rest-json\n"+
			"requests: 20\ndesign: {replications: 3}\n"))
		ok(t, err)
		for _, trial := range plan.Trials {
			ok(t, fabricated.Trial(kept, trial, 20, nil))
		}
		ok(t, kept.Close())
	}
	shows(t, s, "/compare/?r="+id(t, s, "low")+"&r="+id(t, s, "high"), "No verdict: ", "n of w: 9 before, 90 now.")
	shows(t, s, "/compare/?r="+id(t, s, "1")+"&r="+id(t, s, "named"), "No verdict: ",
		"study: many before, other now; concurrency: 1 before, 4 now.")
}

// Facts that differ are shown as they are written, and no more of them than a page bears.
func TestComparedFacts(t *testing.T) {
	dir := t.TempDir()
	for i, memory := range []string{"16777216000", "16777216001"} {
		facts := fmt.Appendf(nil, `{"edgegauge": {"version": "test"}, "memory": %s, "long": "%s%d"}`, memory,
			strings.Repeat("x", 1_000_000), i)
		kept, plan, err := fabricated.CreateOn(filepath.Join(dir, fmt.Sprint(i)), fabricated.Study(2, 2, 20), facts)
		ok(t, err)
		for _, trial := range plan.Trials {
			ok(t, fabricated.Trial(kept, trial, 20, nil))
		}
		ok(t, kept.Close())
	}
	s := served(t, Options{Folders: []string{dir}})
	page := shows(t, s, "/compare/?r="+id(t, s, "0")+"&r="+id(t, s, "1"),
		`<th scope="row">memory</th><td>16777216000</td><td>16777216001</td>`, `<th scope="row">long</th>`)
	if len(page) > 100_000 {
		t.Errorf("the page has %d B", len(page))
	}
}

// The name of a capture may be a stranger's: it stays one name.
func TestNameOfAttachment(t *testing.T) {
	for _, name := range []string{"0001-1-lo.pcapng", `a"; filename="b.sh`, "ü; filename*=UTF-8''b.sh", "a\r\nb"} {
		kind, parts, err := mime.ParseMediaType(attachment(name))
		if err != nil || kind != "attachment" || len(parts) != 1 || parts["filename"] != name {
			t.Errorf("%q: %s, %v, %v", name, kind, parts, err)
		}
	}
}
