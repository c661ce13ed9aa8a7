package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/link"
	"edgegauge.example/edgegauge/internal/store"
)

// jointStudy is driven from both benches nearly all the time.
const jointStudy = `study: joint
service: monitor
factors:
  stack: [phantom, reference/rest-json]
driven_from: 2
rate: 100
arrival: poisson
duration: 1s
retries: 20
design: {replications: 6, warmup: 5}
`

// Of two benches that drive one server the helper is killed, cut off and frozen, the one with the servers is killed,
// and so is the hub: the study ends, says what became of the blocks that were under way, and has no figure to which not
// both benches contributed all that they say.
func TestFaultsOfAJointStudy(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	needs(t, os.Geteuid() == 0 && link.Able() == nil, "root, for networks and file systems of its own")
	f := newFaulty(t, 0, jointStudy)
	for _, name := range faultBenches { // they reach each other by way of the hub's machine
		f.must(kernel.InNetwork(f.ns[faultsHub], func() error {
			return os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0o644)
		}))
		far := net.ParseIP(f.cables[name].far)
		configured(t, f.ns[name], f.cables[name].name, func(nl *netlink.Handle, dev netlink.Link) error {
			return nl.RouteAdd(&netlink.Route{LinkIndex: dev.Attrs().Index, Gw: far})
		})
	}
	said := func() string {
		text, err := os.ReadFile(filepath.Join(f.dir, faultsBoss+".log"))
		f.must(err)
		return string(text)
	}
	for end := time.Now().Add(2 * time.Minute); !strings.Contains(said(), ": kept"); f.wait(50 * time.Millisecond) {
		if time.Now().After(end) || f.keep() {
			t.Fatalf("no block was measured: %s", said())
		}
	}
	var all []fault
	for i, x := range []fault{{kind: "kill", who: "two"}, {kind: "cut both ways", who: "two", lasts: 2 * faultLease},
		{kind: "kill", who: faultsHub}, {kind: "cut to the hub", who: "one", lasts: time.Second},
		{kind: "freeze", who: "two", lasts: 2 * faultLease}, {kind: "kill", who: "one"},
		{kind: "cut from the hub", who: "two", lasts: 2 * faultLease}} {
		x.at = time.Since(f.began) + time.Duration(i)*5*time.Second
		all = append(all, x)
	}
	done := f.meet(all)
	f.heal()
	if !done {
		f.must(f.finish())
	}
	if words := said(); !strings.Contains(words, "interrupted: bench two helped with it") &&
		!strings.Contains(words, "lost each other") {
		t.Errorf("nothing is said of the helper that was lost: %s", words)
	}
	s, err := store.OpenReadOnly(f.out)
	f.must(err)
	defer s.Close()
	blocks, wrong, states, err := countBlocks(s)
	if err != nil || wrong > 0 || blocks != 6 || states[store.Interrupted] == 0 {
		t.Errorf("%d blocks, %d with other than one result: attempts %v, %v", blocks, wrong, states, err)
	}
	if found := s.Verify(); len(found) > 0 {
		t.Errorf("the results are not whole: %v", found)
	}
	f.must(jointWhole(s))
	t.Logf("%.0f s, met %v, attempts %v", time.Since(f.began).Seconds(), f.met, states)
}

// jointWhole compares what two benches sent in each valid trial with what the server counted.
func jointWhole(s *store.Store) error {
	attempts, err := s.Attempts(0)
	for _, a := range attempts {
		if a.State != store.Valid {
			continue
		}
		j, e := s.Joint(a.AttemptID)
		if e == nil && (len(j.Benches) != 2 || j.Benches[0].Requests == 0 || j.Benches[1].Requests == 0) {
			e = fmt.Errorf("trial %d was driven by %+v", a.Trial, j.Benches)
		}
		if e == nil {
			e = allSent(s, a.Trial, j)
		}
		err = errors.Join(err, e)
	}
	return err
}
