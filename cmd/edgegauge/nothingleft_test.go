package main

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/fleet/admit"
	"edgegauge.example/edgegauge/internal/fleet/wire"
)

// A run that cannot begin, since its page's port is in use or no hub answers, makes no results, and results/latest
// stays where it was.
func TestARunThatCannotBeginLeavesNothing(t *testing.T) {
	o := newOwn(t)
	o.write(t, "s.yaml", one+"requests: 5\ndesign: {replications: 1}\n")
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	ok(t, err)
	defer taken.Close()
	_, seed, err := admit.NewKey()
	ok(t, err)
	creds := filepath.Join(o.dir, "creds.json")
	ok(t, wire.Credentials{URL: "nats://127.0.0.1:1", Seed: seed}.Write(creds))
	fails := func(want string, args ...string) {
		t.Helper()
		if out, code := o.run(t, append([]string{"run", "s.yaml"}, args...)...); code != exitUnmeasured ||
			!strings.Contains(out, want) {
			t.Errorf("%v: exit code %d, want %d with %q: %s", args, code, exitUnmeasured, want, out)
		}
	}
	all := func() {
		t.Helper()
		fails("address already in use; name another address", "--web="+taken.Addr().String())
		fails("127.0.0.1:1", "--benches", "any", "--creds", creds)
		fails("address already in use", "--web="+taken.Addr().String(), "--out", "elsewhere")
		fails("127.0.0.1:1", "--benches", "any", "--creds", creds, "--out", "elsewhere")
		if exists(filepath.Join(o.dir, "elsewhere")) {
			t.Error("--out was made")
		}
	}
	all()
	if exists(filepath.Join(o.dir, "results")) {
		t.Error("results were made")
	}
	if out, code := o.run(t, "run", "s.yaml", "--quiet"); code != exitDone {
		t.Fatalf("exit code %d: %s", code, out)
	}
	all()
	if at, err := os.Readlink(filepath.Join(o.dir, "results/latest")); at != "s/001" {
		t.Errorf("latest leads to %s, %v", at, err)
	}
	if made, err := os.ReadDir(filepath.Join(o.dir, "results/s")); err != nil || len(made) != 1 {
		t.Errorf("results/s has %v, %v", made, err)
	}
}
