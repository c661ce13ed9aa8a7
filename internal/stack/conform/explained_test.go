package conform

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/stack"
)

// A check is found by its name alone, with what a stack adds, and in what Run reports.
func TestChecksAreExplained(t *testing.T) {
	for _, k := range Checks() {
		for _, name := range []string{k.Name, k.Name + " keep-alive", "json none http echo " + k.Name} {
			if Explain(name) != k.Explanation {
				t.Errorf("%q is not explained as %q", name, k.Name)
			}
		}
	}
	if Explain("no such check") != "" {
		t.Error("what is no check is explained")
	}
}

// Each check that Run reports is explained, by its own name and not by a shorter one that it happens to begin with.
func TestEachReportedCheckIsExplained(t *testing.T) {
	no := errors.New("nothing is started here")
	kit := Kit{
		Start:     func(context.Context, stack.Description, string) (Running, error) { return nil, no },
		StartPeer: func(stack.Description, string, Tap) (Running, error) { return nil, no },
		Peer:      func(stack.Wish) (stack.Description, bool) { return stack.Description{Name: "peer"}, true },
	}
	said := func(what, name string) bool {
		added, ok := strings.CutPrefix(what, name)
		return ok && (added == "" || strings.HasPrefix(added, ", ") ||
			slices.Contains([]string{" peer", " keep-alive", " per-request"}, added))
	}
	reported := map[string]bool{}
	for _, o := range []stack.Offer{
		{Encodings: []string{"json", "soap11"}, Security: []string{"none", "tls"}, Transports: []string{"http"}},
		{Encodings: []string{"soap12"}, Security: []string{"wss-rsa"}, Transports: []string{"http"}},
		{Encodings: []string{"cbor"}, Security: []string{"dtls-psk"}, Transports: []string{"coap"}},
	} {
		o.Services, o.Connections = []string{"echo", "sort", "sum"}, []string{"keep-alive", "per-request"}
		o.Sides = []string{"server", "client"}
		d := stack.Description{Name: "theirs", Options: []string{"delay"}, Serves: []stack.Offer{o}}
		Run(t.Context(), d, kit, func(check string, _ error) {
			words := strings.SplitN(check, " ", 5) // encoding, security, transport, service, what
			what := words[len(words)-1]
			if check == endsWithItsInput {
				what = check
			}
			at := slices.IndexFunc(Checks(), func(k Check) bool { return said(what, k.Name) })
			if at < 0 || Explain(check) != Checks()[at].Explanation {
				t.Errorf("%q is explained as %q", check, Explain(check))
				return
			}
			reported[Checks()[at].Name] = true
		})
	}
	parts := []string{largeMessages, stack.CountsBytes, bodyOverLimit} // of other checks
	for _, k := range Checks() {
		if !reported[k.Name] && !slices.Contains(parts, k.Name) {
			t.Errorf("%q is explained and never reported", k.Name)
		}
	}
}
