package report

import (
	"fmt"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/advise/paper"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/report/pagetest"
	"edgegauge.example/edgegauge/internal/store"
)

// A page of twenty treatments and six responses is small, soon ready, and does
// in a browser what it is for.
func TestPageInBrowser(t *testing.T) {
	r := fakeReport(t, 10, 2, 10)
	r.fakeTrace(0, measure.Client, store.Measured)
	r.fakeTrace(0, measure.Server, store.Modelled)
	r.Cells[0].Published = &paper.Beside{Row: paper.Row{Mean: 2.1e-5, HalfWidth: 1e-6}}
	path, size := written(t, r)
	if size > 3<<20 {
		t.Errorf("the page has %d B, want 3 MB at most", size)
	}
	b := pagetest.Start(t)
	b.Size(t, 1100, 900)
	b.Open(t, "file://"+path)
	var ready float64
	b.Eval(t, &ready, `Number(document.getElementById("explore").dataset.ready || NaN) || 1e9`)
	t.Logf("%d B, ready after %.0f ms", size, ready)
	if ready > 10_000 { // the promise is 1 s: edgegauge bench holds it
		t.Errorf("ready after %v ms", ready)
	}
	p := pageUnderTest{t, b}
	p.chartShows("RTT at the client: trials", "circle", 20*10)
	// what spans more than 12 times is logarithmic by itself
	for _, v := range []struct{ view, log string }{{"distribution", "true"}, {"trials", "false"}} {
		p.click(`input[name="view"][value="` + v.view + `"]`)
		if got := b.Text(t, `document.getElementById("x-log").checked`); got != v.log {
			t.Errorf("%s: logarithmic %s, want %s", v.view, got, v.log)
		}
	}
	if n := p.count(`#explore .chart [stroke="var(--pub)"] path`); n != 1 {
		t.Errorf("got %d published values in the chart, want 1", n)
	}
	if n, l := p.count("#rtt rect.fig-pub, #rtt path.fig-pub"), p.count(".legend path.fig-pub"); n != 1 || l != 1 {
		t.Errorf("got %d published values in the figure and %d in the legend, want 1 and 1", n, l)
	}
	t.Run("hover", func(t *testing.T) { pageUnderTest{t, b}.hover() })
	t.Run("pick", func(t *testing.T) { pageUnderTest{t, b}.pick() })
	t.Run("views", func(t *testing.T) { pageUnderTest{t, b}.views() })
	b.Clean(t, "file://")
}

type pageUnderTest struct {
	*testing.T
	b *pagetest.Browser
}

// label is what the chart says of itself.
func (p pageUnderTest) label() string {
	return p.b.Text(p.T, `document.querySelector("#explore .chart svg").getAttribute("aria-label")`)
}

func (p pageUnderTest) count(selector string) int {
	var n int
	p.b.Eval(p.T, &n, fmt.Sprintf(`document.querySelectorAll(%q).length`, selector))
	return n
}

func (p pageUnderTest) chartShows(label, mark string, marks int) {
	p.Helper()
	if got := p.label(); !strings.HasPrefix(got, label) {
		p.Errorf("the chart is %q, want %q", got, label)
	}
	if got := p.count("#explore .chart " + mark); got != marks {
		p.Errorf("%s: got %d of %s, want %d", label, got, mark, marks)
	}
}

// hover puts the pointer on a trial and reads its value.
func (p pageUnderTest) hover() {
	p.b.Eval(p.T, nil, `document.getElementById("explore").scrollIntoView()`)
	var at []float64
	p.b.Eval(p.T, &at,
		`(() => { const r = document.querySelector("#explore .chart circle").getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()`)
	p.b.Move(p.T, at[0]-2, at[1])
	p.b.Move(p.T, at[0], at[1])
	tip := p.await(`document.querySelector('#explore .chart g[aria-label="tip"]').textContent`, "stack-0 encoding-0")
	if !strings.Contains(tip, "s") || !strings.Contains(tip, "trial ") && !strings.Contains(tip, "mean ") {
		p.Errorf("the tip says %q", tip)
	}
	p.b.Shoot(p.T, "hover", false)
}

// await waits until an expression contains a text.
func (p pageUnderTest) await(expression, want string) string {
	p.Helper()
	var got string
	p.b.Eval(p.T, &got,
		fmt.Sprintf(`(async () => { for (let i = 0; i < 600; i++) { const v = String(%s); if (v.includes(%q)) return v; await new Promise((r) => setTimeout(r, 50)); } return "never: " + %s; })()`, expression, want, expression))
	if strings.HasPrefix(got, "never: ") {
		p.Fatalf("%s never contained %q: %s", expression, want, got)
	}
	return got
}

// pick chooses levels, another response and a logarithmic scale.
func (p pageUnderTest) pick() {
	ticks := func() string {
		return p.b.Text(p.T,
			`[...document.querySelectorAll('#explore .chart g[aria-label="x-axis tick label"] text')].map((t) => t.textContent).join(" ")`)
	}
	linear := ticks()
	p.click("#x-log")
	if log := ticks(); log == linear || strings.HasPrefix(log, "0") || !strings.HasPrefix(linear, "0 ") {
		p.Errorf("ticks: linear %q, logarithmic %q", linear, log)
	}
	p.click("#x-log")
	p.click(`input[name="pick-encoding"][value="encoding-1"]`)
	p.chartShows("RTT at the client: trials, means and intervals of 10 treatments", "circle", 10*10)
	p.click(`input[name="pick-stack"][value="stack-3"]`)
	p.chartShows("RTT at the client: trials, means and intervals of 9 treatments", "circle", 9*10)
	p.b.Eval(p.T, nil,
		`(() => { const s = document.getElementById("x-panel"); s.value = [...s.options].findIndex((o) => o.text === "Message size at the client"); s.dispatchEvent(new Event("change")); })()`)
	p.chartShows("Message size at the client: trials", "circle", 9*10)
	if got := ticks(); !strings.HasSuffix(got, "B") {
		p.Errorf("the ticks of sizes are %q", got)
	}
	p.click(`fieldset:has([name="pick-encoding"]) button:last-of-type`) // none
	if got := p.b.Text(p.T, `document.querySelector("#explore .chart").textContent`); !strings.Contains(got,
		"No treatment is selected") {
		p.Errorf("without levels the chart says %q", got)
	}
	p.click(`fieldset:has([name="pick-encoding"]) button:nth-last-of-type(2)`) // all
	p.click(`input[name="pick-stack"][value="stack-3"]`)
	p.chartShows("Message size at the client: trials, means and intervals of 20 treatments", "circle", 20*10)
}

func (p pageUnderTest) click(selector string) {
	p.Helper()
	p.b.Eval(p.T, nil, fmt.Sprintf(`document.querySelector(%q).click()`, selector))
}

// views looks at distributions, courses and power.
func (p pageUnderTest) views() {
	p.click(`button.look[data-panel="rtt-client"]`)
	p.click(`input[name="view"][value="distribution"]`)
	p.chartShows("RTT at the client: share of requests within a value, 20 treatments", `g[aria-label="line"] path`, 20)
	p.hoverLine("of 4000 requests within")
	p.b.Shoot(p.T, "distribution", false)
	p.click(`input[name="view"][value="course"]`)
	p.chartShows("RTT at the client over the recorded run, 20 treatments", `g[aria-label="line"] path`, 20)
	p.hoverLine("% of the run")
	p.click(`button.look[data-panel="cpu-client"]`)
	if got := p.b.Text(p.T, `document.querySelector("#explore .chart").textContent`); !strings.Contains(got,
		"no distribution") {
		p.Errorf("of a response without a distribution the chart says %q", got)
	}
	p.click(`button.look[data-view="power"]`)
	p.chartShows("Power of the client over trial 1, stack-0 encoding-0, measured by exec", `g[aria-label="rect"] rect`, 3)
	p.hoverLine("measured 3")
	p.b.Shoot(p.T, "power", false)
	p.b.Eval(p.T, nil,
		`(() => { const s = document.getElementById("x-trace"); s.value = 1; s.dispatchEvent(new Event("change")); })()`)
	p.chartShows("Power of the server over trial 1, stack-0 encoding-0, modelled by exec", `g[aria-label="rect"] rect`, 3)
	if got := p.b.Text(p.T, `document.querySelector("#explore .caption").textContent`); !strings.HasPrefix(got,
		"Modelled, not measured") {
		p.Errorf("a modelled trace says %q", got)
	}
	p.hoverLine("modelled 3")
}

// hoverLine puts the pointer near the right end of a line, where its tip must be.
func (p pageUnderTest) hoverLine(want string) {
	p.Helper()
	p.b.Eval(p.T, nil, `document.querySelector("#explore .chart").scrollIntoView()`)
	var at []float64
	p.b.Eval(p.T, &at,
		`(() => { const l = document.querySelector('#explore .chart g[aria-label="line"] path'), q = l.getPointAtLength(l.getTotalLength() * 0.8).matrixTransform(l.getScreenCTM()); return [q.x, q.y]; })()`)
	p.b.Move(p.T, at[0]-3, at[1]-3)
	p.b.Move(p.T, at[0], at[1])
	p.await(`document.querySelector('#explore .chart g[aria-label="tip"]').textContent`, want)
}

// Everyone can read the page: axe-core finds nothing, in both colour schemes,
// and on a phone nothing is wider than the screen.
func TestPageIsAccessible(t *testing.T) {
	r := fakeReport(t, 3, 2, 6)
	r.Warnings = []string{"device local: load was 8.6 when the run began"}
	r.Cells[0].Warnings = []string{"outliers (modified z above 3.5): 1 of 6 trials"}
	r.fakeTrace(0, measure.Client, store.Measured)
	r.Next = []Step{{"find the best", "edgegauge choose results/latest --minimize rtt"}}
	path, _ := written(t, r)
	b := pagetest.Start(t)
	for _, scheme := range []string{"light", "dark"} {
		for _, width := range []int{1100, 360} {
			b.Scheme(t, scheme)
			b.Size(t, width, 800)
			b.Open(t, "file://"+path)
			b.Eval(t, nil, `for (const d of document.querySelectorAll("details")) d.open = true`)
			what := fmt.Sprintf("%s at %d px", scheme, width)
			b.Accessible(t, what, width)
			b.Shoot(t, "page-"+scheme+fmt.Sprint(width), true)
		}
	}
}

// A click on a head sorts by what the column means, not by its text.
func TestTablesSort(t *testing.T) {
	path, _ := written(t, fakeReport(t, 3, 2, 6))
	b := pagetest.Start(t)
	b.Open(t, "file://"+path)
	b.Eval(t, nil, `globalThis.table = document.querySelector("section.panel table")`)
	column := func(n int, cells ...string) string {
		for i, c := range cells { // the rows are given what to sort
			b.Eval(t, nil, fmt.Sprintf(`table.tBodies[0].rows[%d].cells[%d].textContent = %q`, i, n, c))
		}
		b.Eval(t, nil, fmt.Sprintf(`table.tHead.rows[0].cells[%d].firstChild.click()`, n))
		return b.Text(t, fmt.Sprintf(`[...table.tBodies[0].rows].slice(0, %d).map((r) => r.cells[%d].textContent).join("|")`,
			6, n))
	}
	b.Eval(t, nil, `while (table.tBodies[0].rows.length > 6) table.tBodies[0].deleteRow(6)`)
	if n := b.Text(t, `table.tBodies[0].rows.length`); n != "6" {
		t.Fatalf("%s rows", n)
	}
	if got, want := column(1, "2.00 ms", "–", "100 µs", "−1.5 ms", "900 ns", "1.10 s"),
		"−1.5 ms|900 ns|100 µs|2.00 ms|1.10 s|–"; got != want {
		t.Errorf("ascending: %s, want %s", got, want)
	}
	if got, want := column(1), "1.10 s|2.00 ms|100 µs|900 ns|−1.5 ms|–"; got != want {
		t.Errorf("descending: %s, want %s", got, want)
	}
	if got := b.Text(t, `table.tHead.rows[0].cells[1].getAttribute("aria-sort")`); got != "descending" {
		t.Errorf("the head says %s", got)
	}
	if got, want := column(0, "b", "a", "c", "f", "e", "d"), "a|b|c|d|e|f"; got != want {
		t.Errorf("words: %s, want %s", got, want)
	}
	if got, want := column(0, "802.15.4 b", "802.15.4 a", "lte-m c", "802.15.4 f", "802.15.4 e", "gsm d"),
		"lte-m c|gsm d|802.15.4 f|802.15.4 e|802.15.4 b|802.15.4 a"; got != want { // the second click on this head
		t.Errorf("names that begin with figures: %s, want %s", got, want)
	}
	b.Clean(t, "file://")
}

func TestPageSaysWhatToDoNext(t *testing.T) {
	r := fakeReport(t, 3, 2, 6)
	r.Next = []Step{{"look <closer>", "edgegauge choose 'a b' --minimize rtt"}}
	var page strings.Builder
	if err := r.HTML(&page); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`href="#next"`, "look &lt;closer&gt;:",
		"<code>edgegauge choose &#39;a b&#39; --minimize rtt</code>"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page has no %s", want)
		}
	}
}

// A study without factors has its charts, too.
func TestPageWithoutFactors(t *testing.T) {
	r := fakeReport(t, 1, 1, 4)
	r.Factors, r.Treatments[0].Levels = nil, nil
	path, _ := written(t, r)
	b := pagetest.Start(t)
	b.Open(t, "file://"+path)
	pageUnderTest{t, b}.chartShows("RTT at the client: trials, means and intervals of 1 treatments", "circle", 4)
	b.Clean(t, "file://")
}

// Without scripts, and on paper, the static figures are there and the rest is not.
func TestPageWithoutScripts(t *testing.T) {
	path, _ := written(t, fakeReport(t, 3, 2, 6))
	b := pagetest.Start(t)
	b.Must(t, nil, "Emulation.setScriptExecutionDisabled", map[string]any{"value": true})
	b.Size(t, 900, 800)
	b.Open(t, "file://"+path)
	var doc struct{ Root struct{ NodeID int } }
	b.Must(t, &doc, "DOM.getDocument", nil)
	visible := func(selector string) bool {
		var node struct{ NodeID int }
		b.Must(t, &node, "DOM.querySelector", map[string]any{"nodeId": doc.Root.NodeID, "selector": selector})
		if node.NodeID == 0 {
			t.Fatalf("no %s", selector)
		}
		_, err := b.Call("DOM.getBoxModel", map[string]any{"nodeId": node.NodeID})
		return err == nil
	}
	for selector, want := range map[string]bool{"#rtt .fig": true, "#rtt .fig circle": true, "#explore": false,
		"button.look": false} {
		if got := visible(selector); got != want {
			t.Errorf("%s is visible: %v, want %v", selector, got, want)
		}
	}
	b.Must(t, nil, "Emulation.setScriptExecutionDisabled", map[string]any{"value": false})
	b.Open(t, "file://"+path)
	b.Must(t, nil, "Emulation.setEmulatedMedia", map[string]any{"media": "print"})
	b.Must(t, &doc, "DOM.getDocument", nil)
	if visible("#explore") || !visible("#rtt .fig") {
		t.Error("on paper the chart of the screen is shown, or the figure is not")
	}
	b.Shoot(t, "print", true)
}

// The answer and one picture stand above the fold of a small laptop, side by side; on a phone the picture
// follows the answer. Tried with as many sentences as the quickstart has.
func TestAnswerAboveTheFold(t *testing.T) {
	w := exactly(nil)
	w.exact = func(at map[string]string, block int) []store.Result {
		var out []store.Result
		k := map[string]float64{"rest-json": 2, "rest-cbor": 1.9, "soap": 2.6, "coap-json": 1.02, "coap-cbor": 1,
			"mqtt-json": 1.7}
		v := k[at["stack"]] * (1 + 0.01*float64((block*5+len(at["stack"]))%7-3))
		add := func(response string, scale float64, method store.Method) {
			m, _ := measure.FindResponse(response)
			x := v * scale
			out = append(out, store.Result{Side: measure.Client, Response: response, Unit: m.Unit, N: 100, Mean: x, SD: x / 10,
				Median: x, P95: 1.2 * x, Min: 0.9 * x, Max: 1.3 * x, Method: method})
		}
		add("cpu", 7.5e-6, store.Measured)
		if at["link"] == "none" {
			add("rtt", 14e-6, store.Measured)
			add("message_size", 108, store.Measured)
			return out
		}
		add("rtt", 100e-3, store.Measured)
		add("wire_bytes", 200, store.Measured)
		add("energy_gross", 20e-3, store.Modelled)
		return out
	}
	r := reportOf(t, w.write(t, `study: s
question: Which way should a small device report?
service: monitor
requests: 100
factors:
  link: [{name: lte-m, delay: 20ms}, none]
  stack: [rest-json, rest-cbor, soap, coap-json, coap-cbor, mqtt-json]
design: {replications: 12, seed: 1}
`))
	if n := len(r.Verdict()); n < 6 {
		t.Fatalf("%d sentences: %q", n, r.Verdict())
	}
	path, _ := written(t, r)
	b := pagetest.Start(t)
	at := func(selector string) (box struct{ Left, Right, Top, Bottom float64 }) {
		b.Eval(t, &box, fmt.Sprintf(`document.querySelector(%q).getBoundingClientRect().toJSON()`, selector))
		return box
	}
	for _, size := range [][2]int{{1280, 800}, {1920, 1080}} {
		b.Size(t, size[0], size[1])
		b.Open(t, "file://"+path)
		answer, picture := at(".answer"), at(".front svg")
		if fold := float64(size[1]); answer.Bottom > fold || picture.Bottom > fold {
			t.Errorf("%v: the answer ends at %.0f px, the picture at %.0f", size, answer.Bottom, picture.Bottom)
		}
		if picture.Left < answer.Right || picture.Right > float64(size[0]) {
			t.Errorf("%v: the answer ends at %.0f px, and the picture is between %.0f and %.0f", size, answer.Right, picture.Left,
				picture.Right)
		}
		if size[0] == 1280 {
			b.Shoot(t, "fold", false)
		}
	}
	b.Size(t, 400, 800)
	if answer, picture := at(".answer"), at(".front"); picture.Top < answer.Bottom || picture.Top > answer.Bottom+40 {
		t.Errorf("at 400 px: the answer ends at %.0f px and the picture begins at %.0f", answer.Bottom, picture.Top)
	}
}
