package report

import (
	"bytes"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/study"
)

// A truth is what a simulated lab finds: the true value of a response, NaN
// where there is none to be found, and the spread of trials around it.
type truth func(at map[string]string, side measure.Side, response string) (mean, sd float64)

// simulated writes a results directory whose truth is known.
func simulated(t testing.TB, file string, value truth, methods ...store.Method) string {
	t.Helper()
	return world{value: value, method: append(methods, store.Measured)[0],
		quality: func(map[string]string, int) []store.Quality { return nil }}.write(t, file)
}

// onBoard is simulated with boards in place of this machine.
func onBoard(t testing.TB, file string, value truth) string {
	t.Helper()
	const client, board = "client.device: pi}", `client.device: "ssh://pi@board"}`
	if !strings.Contains(file, client) {
		file += "client: {device: \"ssh://pi@board\"}\n"
	}
	file = strings.Replace(file, client, board, 1) + "server: {device: \"ssh://pi@board\"}\n"
	return world{value: value, method: store.Measured, board: true,
		quality: func(map[string]string, int) []store.Quality { return nil }}.write(t, file)
}

// A world is what a simulated lab finds and notes.
type world struct {
	board   bool // its device is one
	value   truth
	method  store.Method // of energy
	quality func(at map[string]string, block int) []store.Quality
	exact   func(at map[string]string, block int) []store.Result  // nil: drawn from value
	bench   func(block int) store.Bench                           // nil: the study runs alone
	lacks   func(at map[string]string, block int) bool            // its bench cannot run it; nil: all can
	unrun   func(at map[string]string, block int) bool            // the run was interrupted before it; nil: before none
	refused func(at map[string]string, block int) []store.Quality // what is noted of a first, invalid attempt; nil: none
	ended   func(at map[string]string, block int) int             // attempts that timeouts.trial ended; nil: none
	failed  func(at map[string]string, block int) []string        // why attempts before the valid one failed; nil: none
}

func (w world) write(t testing.TB, file string) string {
	t.Helper()
	s, err := study.Parse("study.yaml", []byte(file), study.Vocabulary{})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := study.Expand(s)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "results")
	h := header(t, file, s, plan)
	if w.board {
		h.Facts = bytes.Replace(h.Facts, []byte(`"local"`), []byte(`"ssh://pi@board"`), 1)
	}
	st, err := store.Create(dir, h)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if err := st.Together(func() error { w.trials(t, st, s, plan); return nil }); err != nil {
		t.Fatal(err)
	}
	return dir
}

func (w world) trials(t testing.TB, st *store.Store, s study.Study, plan study.Plan) {
	t.Helper()
	for _, trial := range plan.Trials {
		at := map[string]string{}
		for i, w := range trial.Treatment {
			at[s.Factors[i].Name] = w.Text
		}
		if w.lacks != nil && w.lacks(at, trial.Block) {
			if err := st.Lack(trial.ID, "java is missing"); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if w.unrun != nil && w.unrun(at, trial.Block) {
			continue
		}
		results := resultsOf(at, trial.Block, w.value, w.method)
		if w.exact != nil {
			results = w.exact(at, trial.Block)
		}
		on := store.Bench{}
		if w.bench != nil {
			on = w.bench(trial.Block)
		}
		if w.refused != nil {
			w.refuse(t, st, trial.ID, w.refused(at, trial.Block))
		}
		if w.failed != nil {
			for _, why := range w.failed(at, trial.Block) {
				a, err := st.BeginOn(trial.ID, on)
				if err == nil {
					err = a.Invalidate(why, "", nil)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		if w.ended != nil {
			for range w.ended(at, trial.Block) {
				a, err := st.BeginOn(trial.ID, on)
				if err == nil {
					err = a.Invalidate("trial 1: measure: "+study.TooLong(time.Minute).Error(), "", nil)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		a, err := st.BeginOn(trial.ID, on)
		if err != nil {
			t.Fatal(err)
		}
		if len(results) == 0 {
			err = a.Invalidate("all requests failed", "", nil)
		} else {
			err = a.Commit(results, w.quality(at, trial.Block))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// refuse makes an invalid attempt of which something is noted.
func (w world) refuse(t testing.TB, st *store.Store, trial int, noted []store.Quality) {
	t.Helper()
	if noted == nil {
		return
	}
	a, err := st.Begin(trial)
	if err == nil {
		err = a.Invalidate("too many requests failed", "", noted)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func header(t testing.TB, file string, s study.Study, plan study.Plan) store.Header {
	t.Helper()
	var csv bytes.Buffer
	if err := plan.WriteCSV(&csv); err != nil {
		t.Fatal(err)
	}
	h := store.Header{Study: []byte(file), Plan: csv.Bytes(), Incomplete: s.Design.Incomplete,
		Facts: []byte(`{"devices": {"local": {"Model": "simulated", "CPUs": 2}}}`)}
	for _, trial := range plan.Trials {
		x := store.PlannedTrial{ID: trial.ID, Block: trial.Block, Replication: trial.Replication}
		for i, w := range trial.Treatment {
			x.Treatment = append(x.Treatment, store.Level{Factor: s.Factors[i].Name, Text: w.Text})
		}
		h.Trials = append(h.Trials, x)
	}
	return h
}

// resultsOf draws one trial. The same treatment, block and response gives the same draw.
func resultsOf(at map[string]string, block int, value truth, method store.Method) []store.Result {
	var out []store.Result
	for _, r := range measure.Responses() {
		for _, side := range r.Sides {
			mean, sd := value(at, side, r.Name)
			if math.IsNaN(mean) {
				continue
			}
			h := fnv.New64a()
			h.Write([]byte(strings.Join([]string{r.Name, string(side), at["stack"], at["message"], at["device"], at["service"],
				at["n"], at["ip"], strconv.Itoa(block)}, "|")))
			z := rand.New(rand.NewPCG(h.Sum64(), 1)).NormFloat64()
			v := mean + sd*z
			m := store.Measured
			if strings.HasPrefix(r.Name, "energy") {
				m = method
			}
			out = append(out, store.Result{Side: side, Response: r.Name, Unit: r.Unit, N: 100, Mean: v,
				SD: sd * (1 + 0.1*math.Tanh(3*z*z-2)), Median: v, P95: v * 1.1, Min: v * 0.9, Max: v * 1.2, Method: m})
		}
	}
	return out
}

// reportOf reads a directory.
func reportOf(t testing.TB, dir string) *Report {
	t.Helper()
	s, err := store.OpenReadOnly(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r, err := Read(s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

var program = regexp.MustCompile(`(?s)<script.*?</script>`)

// shown is what a person sees of a format: not the page's programs.
func shown(text string) string { return program.ReplaceAllString(text, "") }
