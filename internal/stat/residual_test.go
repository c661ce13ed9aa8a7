package stat

import (
	"errors"
	"math"
	"slices"
	"testing"
)

func TestChecksAgreeWithScipy(t *testing.T) {
	for _, r := range oracle(t, "checks.csv") {
		a := r.fs(t, "a")
		var got Test
		var err error
		switch r["check"] {
		case "normality":
			got, err = Normality(a)
		case "equal variance":
			groups := [][]float64{a, r.fs(t, "b")}
			if c := r.fs(t, "c"); len(c) > 0 {
				groups = append(groups, c)
			}
			got, err = BrownForsythe(groups...)
		case "trend":
			got, err = Trend(a)
		case "trend within blocks of 5":
			tab := Table{}
			for i := range a {
				tab.Rows = append(tab.Rows, Row{Block: string(rune('A' + i/5))})
			}
			got, err = trendWithin(a, tab)
		}
		words := r["check"] + ", " + r["words"]
		if err != nil {
			t.Errorf("%s: %v", words, err)
			continue
		}
		check(t, words, "statistic", got.Statistic, r.f(t, "statistic"))
		check(t, words, "p", got.P, r.f(t, "p"))
	}
}

func TestOrderEffectsAgreeWithStatsmodels(t *testing.T) {
	tables := designs(t, "order_designs.csv")
	for _, r := range oracle(t, "order.csv") {
		place, before, err := OrderEffects(tables[r["design"]], false)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]Test{"place": place, "before": before}[r["what"]]
		check(t, r["design"]+", "+r["what"], "F", got.Statistic, r.f(t, "f"))
		check(t, r["design"]+", "+r["what"], "p", got.P, r.f(t, "p"))
	}
	none := Table{Factors: []string{"a"}, Rows: []Row{{[]string{"p"}, "", 1}, {[]string{"q"}, "", 2}}}
	if _, _, err := OrderEffects(none, false); !errors.Is(err, ErrNoData) {
		t.Errorf("without blocks: %v", err)
	}
	few := Table{Factors: []string{"a"}, Rows: []Row{{[]string{"p"}, "1", 1}, {[]string{"q"}, "1", 2}}}
	if _, _, err := OrderEffects(few, false); !errors.Is(err, ErrTooFew) {
		t.Errorf("one block: %v", err)
	}
}

func TestChecksRefuse(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		words string
		do    func() (Test, error)
		want  error
	}{
		{"normality of 7", func() (Test, error) { return Normality(make([]float64, 7)) }, ErrTooFew},
		{"normality of equal values", func() (Test, error) { return Normality(make([]float64, 9)) }, ErrNoSpread},
		{"normality of NaN", func() (Test, error) { return Normality([]float64{nan}) }, ErrNotFinite},
		{"variance of one group", func() (Test, error) { return BrownForsythe([]float64{1, 2}) }, ErrTooFew},
		{"variance without spread", func() (Test,
			error) {
			return BrownForsythe([]float64{1, 1}, []float64{2, 2})
		}, ErrNoSpread},
		{"trend of three", func() (Test, error) { return Trend([]float64{1, 2, 3}) }, ErrTooFew},
		{"trend of equal values", func() (Test, error) { return Trend([]float64{1, 1, 1, 1}) }, ErrNoSpread},
	} {
		if got, err := c.do(); !errors.Is(err, c.want) {
			t.Errorf("%s: got %+v, %v; want %v", c.words, got, err, c.want)
		}
	}
	if _, _, err := Thirds([]int64{1, 2}); !errors.Is(err, ErrTooFew) {
		t.Errorf("thirds of two: %v", err)
	}
}

func TestThirds(t *testing.T) {
	first, last, err := Thirds([]int64{1, 3, 100, 200, 300, 10, 20})
	if err != nil || first != 2 || last != 15 {
		t.Errorf("got %v, %v, %v; want means 2 and 15 of the first and last two", first, last, err)
	}
}

func TestTrendReversed(t *testing.T) {
	xs := []float64{3, 1, 4, 1.5, 5, 9, 2, 6, 5.5, 3.5}
	up := must[Test](t)(Trend(xs))
	back := slices.Clone(xs)
	slices.Reverse(back)
	down := must[Test](t)(Trend(back))
	if up.Statistic != -down.Statistic || up.P != down.P {
		t.Errorf("forwards %+v, backwards %+v", up, down)
	}
}
