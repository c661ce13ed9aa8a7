package main

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"os"
	"reflect"
	"testing"

	"edgegauge.example/edgegauge/internal/stat"
)

type oracle struct {
	Blocked bool
	Type    string
	Groups  []struct {
		By               map[string]string
		N                int
		Mean, SD, Median float64
		CI               [2]float64
	}
	Contrasts []map[string]any
	Terms     map[string]struct {
		DF       int
		SS, F, P float64
	}
	Residual struct {
		DF int
		SS float64
	}
}

func oracles(t *testing.T) map[string]oracle {
	t.Helper()
	data, err := os.ReadFile("testdata/analyze/oracle.json")
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]oracle
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	delete(all, "versions")
	if len(all) != 4 {
		t.Fatalf("got %d oracles", len(all))
	}
	return all
}

// What scipy and statsmodels say of the same files, to 1e-9 relative.
func TestAnalyzeAgreesWithStatsmodels(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	for name, want := range oracles(t) {
		args := []string{"analyze", "testdata/analyze/" + name + ".csv", "--response", "y", "--by", "a,b", "--json"}
		if want.Blocked {
			args = append(args, "--block", "rep")
		}
		root := newRoot()
		var out bytes.Buffer
		root.SetArgs(args)
		root.SetOut(&out)
		if err := root.ExecuteContext(context.Background()); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var got stat.Analysis
		if err := json.Unmarshal(out.Bytes(), &got); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		near := func(what string, got stat.Number, want float64) {
			t.Helper()
			if !(math.Abs(float64(got)-want) <= 1e-9*math.Abs(want)+1e-300) {
				t.Errorf("%s: %s: got %v, want %v", name, what, got, want)
			}
		}
		if len(got.Groups) != len(want.Groups) {
			t.Fatalf("%s: got %d groups, want %d", name, len(got.Groups), len(want.Groups))
		}
		for i, w := range want.Groups {
			g := got.Groups[i]
			if !reflect.DeepEqual(g.By, w.By) || g.N != w.N {
				t.Errorf("%s: got group %v of %d, want %v of %d", name, g.By, g.N, w.By, w.N)
			}
			near("mean", g.Mean, w.Mean)
			near("sd", g.SD, w.SD)
			near("ci low", stat.Number(g.CI[0]), w.CI[0])
			near("ci high", stat.Number(g.CI[1]), w.CI[1])
			near("median", g.Median, w.Median)
		}
		if got.Anova.Type != want.Type || len(got.Anova.Terms) != len(want.Terms) {
			t.Errorf("%s: got type %s with %d terms, want %s with %d", name, got.Anova.Type, len(got.Anova.Terms), want.Type,
				len(want.Terms))
		}
		for _, g := range got.Anova.Terms {
			w := want.Terms[g.Term]
			if g.DF != w.DF {
				t.Errorf("%s: %s: got %d degrees of freedom, want %d", name, g.Term, g.DF, w.DF)
			}
			near(g.Term+" ss", g.SS, w.SS)
			near(g.Term+" F", g.F, w.F)
			near(g.Term+" p", g.P, w.P)
		}
		near("residual", got.Anova.Residual.SS, want.Residual.SS)
		compareContrasts(t, name, got.Contrasts, want.Contrasts, near)
	}
}

func compareContrasts(t *testing.T, name string, got []stat.Contrast, want []map[string]any,
	near func(string, stat.Number, float64)) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: got %d contrasts, want %d", name, len(got), len(want))
	}
	for i, w := range want {
		g := got[i]
		between, _ := json.Marshal(g.Between)
		wanted, _ := json.Marshal(w["between"])
		if string(between) != string(wanted) {
			t.Errorf("%s: got contrast of %s, want %s", name, between, wanted)
		}
		ci := w["ratio_ci"].([]any)
		near("ratio", g.Ratio, w["ratio"].(float64))
		near("ratio low", stat.Number(g.RatioCI[0]), ci[0].(float64))
		near("ratio high", stat.Number(g.RatioCI[1]), ci[1].(float64))
		near("p", g.P, w["p"].(float64))
		near("p Holm", g.PHolm, w["p_holm"].(float64))
		near("difference", g.Difference, w["difference"].(float64))
	}
}
