package study

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// A client that has few requests in flight is asked for no more, in whatever combination it is; its server is.
func TestMostRequestsInFlight(t *testing.T) {
	cell := func(transport string, most int) Cell {
		return Cell{Services: []string{"monitor"}, Encodings: []string{"json"}, Securities: []string{"none"},
			Transports: []string{transport}, Connections: []string{"keep-alive"}, Client: true, Server: true, Concurrency: most}
	}
	stacks := []StackFacts{
		{Name: "few", Serves: []Cell{cell("coap", 1), cell("http", 3)}},
		{Name: "any", Serves: []Cell{cell("coap", 0), cell("http", 0)}},
		{Name: "mixed", Serves: []Cell{cell("coap", 1), cell("coap", 0)}},
	}
	words := Vocabulary{Stacks: func(name string) (StackFacts, bool) {
		i := slices.IndexFunc(stacks, func(f StackFacts) bool { return f.Name == name })
		return stacks[max(i, 0)], i >= 0
	}}
	const head = "study: s\nservice: monitor\nrequests: 100\ndesign: {replications: 1}\n"
	const ofFew, ofTwo = "stack: few\ntransport: ", "client: {stack: %s}\nserver: {stack: %s}\ntransport: coap\n"
	for text, fault := range map[string]string{
		ofFew + "coap\nconcurrency: 1\n":                     "",
		ofFew + "http\nconcurrency: 3\n":                     "",
		ofFew + "coap\nconcurrency: 2\n":                     `"few" has at most 1 request in flight, not 2; write concurrency: 1`,
		ofFew + "http\nconcurrency: 4\n":                     "at most 3 requests in flight, not 4; write concurrency: 3",
		ofFew + "coap\nconcurrency: 2\nrate: 5\n":            "at most 1 request in flight",
		fmt.Sprintf(ofTwo+"concurrency: 2\n", "few", "any"):  "at most 1 request in flight",
		fmt.Sprintf(ofTwo+"concurrency: 99\n", "any", "few"): "",
		"stack: mixed\ntransport: coap\nconcurrency: 9\n":    "",
	} {
		_, err := Parse("s.yaml", []byte(head+text), words)
		if (err == nil) != (fault == "") || err != nil && !strings.Contains(err.Error(), fault) {
			t.Errorf("%q: got %v, want %q", text, err, fault)
		}
	}
}
