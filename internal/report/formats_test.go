package report

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/perf/benchfmt"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/store"
)

const awkward = "100 % of $x_1^2$ & #1 ~{a}\\b <c|d> \"q\" `e` *f* [g] µ × ± – é ß þ 漢"

// awkwardReport has claims, warnings and names that each format must escape.
func awkwardReport(t *testing.T) *Report {
	t.Helper()
	file := strings.Replace(pies, "[axis2, cxf, other]", "[axis2, cxf, {name: \"a_b %, 50\", stack: other}]", 1)
	r := reportOf(t, simulated(t, file, func(at map[string]string, side measure.Side, response string) (float64, float64) {
		if strings.HasPrefix(at["stack"], "a_b") {
			at = map[string]string{"stack": "other", "message": at["message"]}
		}
		return piesAsPublished(at, side, response)
	}))
	r.Study.Question = awkward
	r.Warnings = append(r.Warnings, awkward)
	r.Cells[0].Warnings = append(r.Cells[0].Warnings, "[x] "+awkward)
	return r
}

func TestLaTeXCompilesAsItIs(t *testing.T) {
	latex, err := exec.LookPath("pdflatex")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("no pdflatex; .ci/setup installs it")
		}
		t.Skip("needs pdflatex: apt-get install texlive-latex-base")
	}
	empty := reportOf(t, simulated(t, pies,
		func(map[string]string, measure.Side, string) (float64, float64) { return math.NaN(), 0 }))
	for name, r := range map[string]*Report{"awkward": awkwardReport(t), "empty": empty} {
		dir := t.TempDir()
		f, err := os.Create(filepath.Join(dir, "report.tex"))
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(r.LaTeX(f), f.Close()); err != nil {
			t.Fatal(err)
		}
		c := exec.Command(latex, "-halt-on-error", "-interaction=nonstopmode", "report.tex")
		c.Dir = dir
		c.Env = append(os.Environ(), "HOME="+dir, "MKTEXPK=0") // the usual fonts must do
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", name, err, out[max(0, len(out)-1500):])
		}
		if pdf, err := os.ReadFile(filepath.Join(dir, "report.pdf")); err != nil || !strings.HasPrefix(string(pdf), "%PDF") {
			t.Errorf("%s: no PDF: %v", name, err)
		}
	}
}

func TestMarkdownTablesAreWhole(t *testing.T) {
	r := awkwardReport(t)
	var b strings.Builder
	if err := r.Markdown(&b); err != nil {
		t.Fatal(err)
	}
	rows, width := 0, 0
	for line := range strings.Lines(b.String()) {
		if !strings.HasPrefix(line, "|") {
			width = 0
			continue
		}
		rows++
		n := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|")
		if width == 0 {
			width = n
		}
		if n != width {
			t.Errorf("a row of %d columns in a table of %d: %s", n-1, width-1, line)
		}
	}
	if rows < 50 {
		t.Errorf("got %d rows", rows)
	}
	for _, want := range []string{`\$x\_1^2\$ &amp; \#1 \~{a}\\b &lt;c\|d>`,
		"## total time at the server", `a\_b %, 50 small`,
		"next is cxf, 1.2"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %s in\n%s", want, b.String())
		}
	}
}

// What has intervals for programs says of which confidence they are: the study's.
func TestFormatsNameTheConfidence(t *testing.T) {
	file := strings.Replace(pies, "replications: 8", "replications: 8, confidence: 99%", 1)
	r := reportOf(t, simulated(t, file, piesAsPublished))
	type card struct{ Confidence float64 }
	var whole struct {
		Confidence float64
		Claims     card
	}
	var claims struct{ Studies []card }
	var out, cards, table strings.Builder
	if err := errors.Join(r.JSON(&out), ClaimsJSON(&cards, []*Report{r}), r.CSV(&table),
		json.Unmarshal([]byte(out.String()), &whole), json.Unmarshal([]byte(cards.String()), &claims)); err != nil {
		t.Fatal(err)
	}
	if whole.Confidence != 0.99 || whole.Claims.Confidence != 0.99 || len(claims.Studies) != 1 ||
		claims.Studies[0].Confidence != 0.99 {
		t.Errorf("JSON: %+v, claims: %+v", whole, claims)
	}
	rows, err := csv.NewReader(strings.NewReader(table.String())).ReadAll()
	if err != nil || len(rows) != len(r.Cells)+1 {
		t.Fatalf("%d rows of CSV: %v", len(rows), err)
	}
	for i, row := range rows {
		want := "0.99"
		if i == 0 {
			want = "confidence"
		}
		if got := row[len(row)-1]; got != want {
			t.Errorf("row %d of CSV ends in %q, want %q", i, got, want)
		}
	}
}

// The reader that benchstat uses reads back every trial.
func TestBenchfmtIsReadBack(t *testing.T) {
	r := awkwardReport(t)
	var b strings.Builder
	if err := r.Benchfmt(&b); err != nil {
		t.Fatal(err)
	}
	read := benchfmt.NewReader(strings.NewReader(b.String()), "report.txt")
	trials, units := 0, 0
	got := map[string][]float64{}
	for read.Scan() {
		switch x := read.Result().(type) {
		case *benchfmt.SyntaxError:
			t.Error(x)
		case *benchfmt.UnitMetadata:
			units++
		case *benchfmt.Result:
			trials++
			if x.GetConfig("study") != "pies" {
				t.Errorf("got study %q", x.GetConfig("study"))
			}
			if v, ok := x.Value("total_time-sec/op"); ok {
				got[string(x.Name)] = append(got[string(x.Name)], v)
			}
		}
	}
	if err := read.Err(); err != nil {
		t.Error(err)
	}
	if trials != 6*8*2 || units != 2 {
		t.Errorf("got %d trials and %d units, want 96 and 2", trials, units)
	}
	c, _ := r.Cell(0, measure.Server, "total_time")
	back := got["Pies/stack=axis2/message=small/side=server"]
	if len(back) != 8 {
		t.Fatalf("got %d trials of %v", len(back), got)
	}
	sum := 0.0
	for _, v := range back {
		sum += v
	}
	if math.Abs(sum/8-c.Mean.Center) > 1e-12 {
		t.Errorf("got a mean of %v, want %v", sum/8, c.Mean.Center)
	}
	r.Damage = []string{"edited"}
	if err := r.Benchfmt(io.Discard); err == nil {
		t.Error("edited results were written in a format that has no warnings")
	}
}

// What is computed from a model is called so above all lines, by its unit, with the side and whether it is of all
// treatments; benchstat parts no trials by it.
func TestBenchfmtNamesWhatIsModelled(t *testing.T) {
	w := exactly(nil)
	w.exact = func(at map[string]string, block int) []store.Result {
		of := func(response string, method store.Method) store.Result {
			m, _ := measure.FindResponse(response)
			return store.Result{Side: measure.Client, Response: response, Unit: m.Unit, N: 1, Mean: wobble(block),
				SD: math.NaN(), Median: wobble(block), P95: math.NaN(), Min: 1, Max: 1, Method: method}
		}
		return []store.Result{of("rtt", store.Measured), of("energy_gross", store.Modelled),
			of("energy", map[string]store.Method{"steady": store.Modelled, "spiky": store.Measured}[at["stack"]])}
	}
	var b strings.Builder
	if err := reportOf(t, w.write(t, twoStacks)).Benchfmt(&b); err != nil {
		t.Fatal(err)
	}
	read := benchfmt.NewReader(strings.NewReader(b.String()), "report.txt")
	trials := 0
	for read.Scan() {
		if x, ok := read.Result().(*benchfmt.Result); ok {
			trials++
			const want = "energy-J/op of the client in some treatments, energy_gross-J/op of the client"
			if got := x.GetConfig("modelled"); got != want {
				t.Fatalf("modelled: %s", got)
			}
		}
	}
	if trials == 0 {
		t.Error("no trials")
	}
}

// Of each response, as benchstat reads it: its unit is described, which way is better if one is, and each trial has its
// value, in the unit that was written.
func TestBenchfmtOfEachResponse(t *testing.T) {
	names := make([]string, 0, 32)
	for _, x := range measure.Responses() {
		names = append(names, x.Name)
	}
	w := exactly(nil)
	w.exact = func(_ map[string]string, block int) (out []store.Result) {
		for i, x := range measure.Responses() {
			v := float64(i+1) * wobble(block)
			for _, side := range x.Sides {
				out = append(out, store.Result{Side: side, Response: x.Name, Unit: x.Unit, N: 1, Mean: v, SD: math.NaN(),
					Median: v, P95: math.NaN(), Min: v, Max: v, Method: store.Measured})
			}
		}
		return out
	}
	var b strings.Builder
	file := oneTreatment + "responses: [" + strings.Join(names, ", ") + "]\n"
	if err := reportOf(t, w.write(t, file)).Benchfmt(&b); err != nil {
		t.Fatal(err)
	}
	read := benchfmt.NewReader(strings.NewReader(b.String()), "report.txt")
	values := map[string]int{}
	described := map[string]int{}
	for read.Scan() {
		switch x := read.Result().(type) {
		case *benchfmt.SyntaxError:
			t.Error(x)
		case *benchfmt.UnitMetadata:
			described[x.OrigUnit]++
		case *benchfmt.Result:
			for _, v := range x.Values {
				if values[v.Unit]++; v.OrigUnit != "" {
					t.Errorf("%s is read as %s", v.OrigUnit, v.Unit)
				}
			}
		}
	}
	want := map[measure.Direction]int{measure.Less: -1, measure.More: 1, measure.Neither: 0}
	for i, x := range measure.Responses() {
		unit := benchUnit(Panel{x.Sides[0], x.Name, x.Unit})
		if got := read.Units().GetBetter(unit); got != want[x.Better()] {
			t.Errorf("%s: better %d, want %s", unit, got, x.Better())
		}
		if described[unit] != 1 || values[unit] == 0 || values[unit]%len(x.Sides) != 0 || i == 0 && values[unit] < 12 {
			t.Errorf("%s: described %d times, with %d values", unit, described[unit], values[unit])
		}
	}
	if len(described) != len(names) || len(values) != len(names) {
		t.Errorf("%d units are described, %d have values, of %d", len(described), len(values), len(names))
	}
}

// What is of the trial and not of a request has no /op.
func TestBenchUnits(t *testing.T) {
	for _, x := range measure.Responses() {
		got := benchUnit(Panel{measure.Client, x.Name, x.Unit})
		if x.OfRequests() != strings.HasSuffix(got, "/op") && !slices.Contains([]string{"failed_share", "resent",
			"datagram_bytes", "notifications_missed", "cpu", "instructions", "energy", "energy_gross"}, x.Name) { // per request
			t.Errorf("%s: %s", x.Name, got)
		}
		if strings.Contains(got, "op/s/op") {
			t.Errorf("%s: %s", x.Name, got)
		}
	}
}

// No name in Markdown tells a person who happens to be called so.
func TestMarkdownMentionsNobody(t *testing.T) {
	const file = "study: s\nquestion: Does @team know?\nfactors: {stack: [axis2, {name: '@all', stack: cxf}]}\n" +
		"service: sort\nsize: 100kB\ndesign: {replications: 4}\n"
	r := reportOf(t, simulated(t, file, func(at map[string]string, side measure.Side, response string) (float64, float64) {
		return map[string]float64{"axis2": 1, "@all": 2}[at["stack"]], 0.01
	}))
	c, err := Compare(r, r, Terms{Margin: 0.05})
	if err != nil {
		t.Fatal(err)
	}
	c.Old, c.New, c.All = "@old", "@new", true
	mention := regexp.MustCompile(`@\w`)
	code := regexp.MustCompile("`[^`]*`")
	for what, write := range map[string]func(io.Writer) error{"report": r.Markdown, "compare": c.Markdown} {
		var b strings.Builder
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		text := code.ReplaceAllString(b.String(), "")
		if mention.MatchString(text) || !strings.Contains(text, "@&#8203;all") {
			t.Errorf("%s: %s", what, text)
		}
	}
}
