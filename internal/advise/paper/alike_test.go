package paper

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/stat"
)

// That two levels are alike is confirmed of just those ratios of which the claim's own words are true.
func TestWordsOfAlikeAreTrue(t *testing.T) {
	p, err := Load("cloud-of-things")
	if err != nil {
		t.Fatal(err)
	}
	c := Claim{ID: "alike", Response: "transmission_rtt", Equivalent: []string{"ipv4", "ipv6"}, Within: 0.25}
	p.Claims = []Claim{c}
	var share float64
	_, said, _ := strings.Cut(c.Words(), "ipv4 and ipv6 ")
	if _, err := fmt.Sscanf(said, "alike: neither over %g %% below the other", &share); err != nil || share != 25 {
		t.Fatalf("%q: %v", c.Words(), err)
	}
	r := rand.New(rand.NewPCG(29, 5))
	for _, ratio := range []float64{0.7, 0.74, 0.76, 0.85, 1.2, 1.26, 1.31, 1.35, 1.4} {
		series := things(r)
		for _, s := range series {
			for i := range s.Trials {
				s.Trials[i].Mean = 1 + 1e-4*r.NormFloat64()
				if s.Levels[1] == "ipv4" {
					s.Trials[i].Mean *= ratio
				}
			}
		}
		want := stat.Contradicted
		if 100*(1-min(ratio, 1/ratio)) <= share {
			want = stat.Confirmed
		}
		if got := p.Judge(series, Mapping{}, 0.95).Claims[0].Verdict; got != want {
			t.Errorf("ratio %g: %s, but %q is %s of it", ratio, got, c.Words(), want)
		}
	}
}
