package testbed

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/stack"
)

// Nor as what is offered in part only here and in part only there: check refuses it, and so must the client, since
// whoever calls it without check measures something that was never tried.
func TestForeignClientsRefuseWhatNoOfferHas(t *testing.T) {
	if testing.Short() {
		t.Skip("runs stacks in other languages")
	}
	b := foreignBed(t)
	tried := 0
	for _, name := range b.StackNames() {
		d, _ := b.FindStack(name)
		if d.Dir == "" || len(d.Call.Command) == 0 || b.StackState(t.Context(), d) != "" {
			continue
		}
		for _, w := range mixedOffers(d) {
			tried++
			line, err := json.Marshal(map[string]any{"type": "call", "protocol": 1, "service": "monitor", "encoding": w[0],
				"security": w[1], "transport": w[2], "connection": w[3], "host": "127.0.0.1", "url": "http://127.0.0.1:9/"})
			if err != nil {
				t.Fatal(err)
			}
			if said := saidOnce(t, d, d.Call, line); !strings.Contains(said, `"type":"error"`) {
				t.Errorf("%s: no offer has %v, and its client said %q", name, w, said)
			}
		}
	}
	if tried == 0 {
		t.Error("no stack here has two offers")
	}
}

// mixedOffers are ways to use a client that no offer of a stack has: an offer's first encoding, security, transport and
// connection, but for one of another's. Offers with options are left out.
func mixedOffers(d stack.Description) [][4]string {
	var out [][4]string
	first := func(o stack.Offer) [4]string {
		return [4]string{o.Encodings[0], o.Security[0], o.Transports[0], o.Connections[0]}
	}
	offered := func(w [4]string) bool {
		return slices.ContainsFunc(d.Serves, func(o stack.Offer) bool {
			return slices.Contains(o.Encodings, w[0]) && slices.Contains(o.Security, w[1]) &&
				slices.Contains(o.Transports, w[2]) && slices.Contains(o.Connections, w[3])
		})
	}
	offers := slices.DeleteFunc(slices.Clone(d.Serves), func(o stack.Offer) bool {
		return !slices.Contains(o.Sides, "client") || slices.ContainsFunc(slices.Collect(maps.Values(o.Options)),
			func(v string) bool { return v != "" })
	})
	for _, o := range offers {
		for _, other := range offers {
			last := first(other)
			last[3] = other.Connections[len(other.Connections)-1]
			for i := range last {
				w := first(o)
				if w[i] = last[i]; !offered(w) && !slices.Contains(out, w) {
					out = append(out, w)
				}
			}
		}
	}
	return out
}

// saidOnce is what a program says to one line.
func saidOnce(t *testing.T, d stack.Description, p stack.Program, line []byte) string {
	t.Helper()
	argv, err := p.Argv(0)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Stdin = d.Dir, bytes.NewReader(append(line, '\n'))
	cmd.Env = append(os.Environ(), p.Env...)
	said, err := kernel.Output(cmd)
	if ctx.Err() != nil {
		t.Errorf("%v of %s: %v, %v", argv, d.Dir, ctx.Err(), err)
	}
	return string(said)
}
