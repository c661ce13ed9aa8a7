package store

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"edgegauge.example/edgegauge/internal/measure"
)

// A single record is the one that a reader of the whole file finds, whatever the order.
func TestExchangeIsTheRecordOfItsSeq(t *testing.T) {
	s := create(t, 1)
	a := must[*Attempt](t)(s.Begin(1))
	xs := exchanges(3000, 1)
	disordered := slices.Clone(served(xs))
	slices.Reverse(disordered)
	for side, ys := range map[measure.Side][]measure.Exchange{measure.Client: xs, measure.Server: disordered} {
		w := must[*ExchangeWriter](t)(a.Exchanges(side))
		ok(t, w.Append(ys))
		ok(t, w.Close())
	}
	ok(t, a.Commit(results, quality))
	for _, side := range []measure.Side{measure.Client, measure.Server} {
		all := map[uint64]measure.Exchange{}
		for batch, err := range s.Exchanges(1, side) {
			ok(t, err)
			for _, x := range batch {
				all[x.Seq] = x
			}
		}
		for _, seq := range []uint64{1, 2, 1024, 1025, 2999, 3000} {
			if got := must[measure.Exchange](t)(s.Exchange(1, side, seq)); got != all[seq] || got.Seq != seq {
				t.Errorf("%s %d: got %+v, want %+v", side, seq, got, all[seq])
			}
		}
		for _, seq := range []uint64{0, 3001, 1 << 62} {
			if _, err := s.Exchange(1, side, seq); !errors.Is(err, ErrNoData) {
				t.Errorf("%s %d: got %v", side, seq, err)
			}
		}
	}
	if n := must[int64](t)(s.Rows()); n != 6000 {
		t.Errorf("got %d rows, want 6000", n)
	}
}

func TestAttemptsAndCaptures(t *testing.T) {
	s := create(t, 2)
	a := must[*Attempt](t)(s.Begin(1))
	ok(t, a.Invalidate("it rained", "trials/0001/serve.log", nil))
	a = must[*Attempt](t)(s.Begin(1))
	w, err := a.Packets("lo")
	ok(t, err)
	ok(t, w.Close())
	ok(t, a.Commit(results, nil))
	must[*Attempt](t)(s.Begin(2))
	one := must[[]AttemptState](t)(s.Attempts(1))
	if len(one) != 2 || one[0].State != Invalid || one[0].Reason != "it rained" || one[1].State != Valid ||
		one[1].Attempt != 2 || one[1].Ended.Before(one[1].Began) || one[0].Ended.IsZero() {
		t.Errorf("got %+v", one)
	}
	all := must[[]AttemptState](t)(s.Attempts(0))
	if len(all) != 3 || all[2].Trial != 2 || all[2].State != Running || !all[2].Ended.IsZero() {
		t.Errorf("got %+v", all)
	}
	if got := must[[]string](t)(s.Captures(1)); len(got) != 1 || got[0] != "packets/0001-2-lo.pcapng" {
		t.Errorf("got %q", got)
	}
}

// A ledger whose names climb out of its directory reads nothing there.
func TestNamesStayInTheDirectory(t *testing.T) {
	dir := finished(t)
	secret := filepath.Join(filepath.Dir(dir), "secret.json")
	ok(t, os.WriteFile(secret, []byte(`{"format": 1, "facts": {"key": "swordfish"}}`), 0o644))
	for _, name := range []string{"../secret.json", secret, "x/../../secret.json"} {
		execSQL(t, dir, "UPDATE runs SET facts = '"+name+"', study = '"+name+"'")
		s := must[*Store](t)(OpenReadOnly(dir))
		if runs, err := s.Runs(); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: got %+v, %v", name, runs, err)
		}
		if facts, err := s.Facts(Run{FactsFile: name}); err == nil || strings.Contains(string(facts), "swordfish") {
			t.Errorf("%s: got %s, %v", name, facts, err)
		}
		if text, _, err := s.Study(); err == nil || strings.Contains(string(text), "swordfish") {
			t.Errorf("%s: got %s, %v", name, text, err)
		}
		ok(t, s.Close())
	}
}

// The span of results is that of their valid attempts: one that was refused, hours before, is none of them.
func TestSpanIsThatOfValidAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := create(t, 3)
		defer s.Close()
		attempt := func(trial int, valid bool) {
			t.Helper()
			a := must[*Attempt](t)(s.Begin(trial))
			time.Sleep(time.Minute)
			if valid {
				ok(t, a.Commit(results, nil))
			} else {
				ok(t, a.Invalidate("it rained", "", nil))
			}
			time.Sleep(2 * time.Hour)
		}
		if began, ended, err := s.Span(); err != nil || !began.IsZero() || !ended.IsZero() {
			t.Errorf("before: got %v to %v %v", began, ended, err)
		}
		attempt(1, false)
		attempt(1, true)
		attempt(2, true)
		attempt(3, false)
		if began, ended, err := s.Span(); err != nil || ended.Sub(began) != 2*time.Hour+2*time.Minute {
			t.Errorf("got %v to %v %v, want 2h2m", began, ended, err)
		}
	})
}
