package fleet

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

var claims = flag.Int("claims", 100, "how many schedules of rivals TestClaims simulates")

var errLost = errors.New("lost")

// A shelf is a register in virtual time, reached over a network that loses and delays.
type shelf struct {
	mu   sync.Mutex
	hold Hold
	rev  uint64
	past []Hold // by revision, from 1
	all  []*rival
	calm bool // nothing is lost
}

// A rival is a coordinator's process.
type rival struct {
	*shelf
	claim  *Claim
	dice   *rand.Rand
	cut    bool
	frozen bool
	dead   bool
}

// travel is one way of a message. Who is frozen does nothing until it thaws.
func (r *rival) travel(ctx context.Context) error {
	for {
		r.mu.Lock()
		late := time.Duration(r.dice.Int64N(int64(20 * time.Millisecond)))
		lost, frozen := r.cut || r.dead || !r.calm && r.dice.IntN(20) == 0, r.frozen
		r.mu.Unlock()
		if frozen {
			time.Sleep(100 * time.Millisecond)
			continue
		}
		if lost {
			<-ctx.Done()
			return errLost
		}
		time.Sleep(late)
		return ctx.Err()
	}
}

func (r *rival) Read(ctx context.Context) (Hold, uint64, error) {
	if err := r.travel(ctx); err != nil {
		return Hold{}, 0, err
	}
	r.mu.Lock()
	h, rev := r.hold, r.rev
	if behind := uint64(1 + r.dice.IntN(5)); !r.calm && rev > behind && r.dice.IntN(4) == 0 {
		rev -= behind
		h = r.past[rev-1]
	}
	r.mu.Unlock()
	return h, rev, r.travel(ctx)
}

func (r *rival) Write(ctx context.Context, h Hold, after uint64) (uint64, error) {
	if err := r.travel(ctx); err != nil {
		return 0, err
	}
	r.mu.Lock()
	if r.rev != after {
		r.mu.Unlock()
		return 0, errors.New("written by another")
	}
	r.rev++
	r.hold = h
	r.past = append(r.past, h)
	rev := r.rev
	r.mu.Unlock()
	return rev, r.travel(ctx) // it may be written, and its writer not know
}

func (r *rival) Remove(context.Context, uint64) error { return nil }

func (r *rival) Ask(ctx context.Context) (Hold, bool) {
	if r.travel(ctx) != nil {
		return Hold{}, false
	}
	r.mu.Lock()
	var found *rival
	for _, o := range r.all {
		if o != r && !o.cut && !o.dead && !o.frozen && o.claim.Held() {
			found = o
		}
	}
	r.mu.Unlock()
	return func() Hold {
		if found == nil {
			return Hold{}
		}
		return found.claim.Hold
	}(), found != nil && r.travel(ctx) == nil
}

// Whoever starts at the same instant, is killed, cut off or frozen: no two coordinators hold a claim at once, and one
// always gets it in the end. Who has a results directory's lock succeeds at once who had it before.
func TestClaims(t *testing.T) {
	met := map[string]int{}
	for seed := range uint64(*claims) {
		synctest.Test(t, func(t *testing.T) { rivalry(t, seed, met) })
		if t.Failed() {
			return
		}
	}
	t.Log(met)
	for _, what := range []string{"refused", "taken over", "killed", "frozen", "cut", "none"} {
		if met[what] == 0 {
			t.Errorf("no schedule met %q", what)
		}
	}
}

func rivalry(t *testing.T, seed uint64, met map[string]int) {
	const lease = 20 * time.Second
	random := rand.New(rand.NewPCG(seed, 0))
	s := &shelf{}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var running sync.WaitGroup
	var mu sync.Mutex
	winners := 0
	count := func(what string) {
		mu.Lock()
		defer mu.Unlock()
		met[what]++
	}
	start := func(after time.Duration) {
		r := &rival{shelf: s, dice: rand.New(rand.NewPCG(seed, uint64(len(s.all)+1)))}
		r.claim = &Claim{Register: r, Lease: lease, Hold: Hold{ID: fmt.Sprint(len(s.all)), Place: fmt.Sprint(len(s.all)),
			Words: fmt.Sprint("rival ", len(s.all))}}
		s.mu.Lock()
		s.all = append(s.all, r)
		s.mu.Unlock()
		running.Go(func() {
			time.Sleep(after)
			err := r.claim.Take(ctx)
			if err == nil {
				mu.Lock()
				winners++
				mu.Unlock()
			} else if errors.Is(err, ErrAnother) {
				count("refused")
			}
			if err == nil && errors.Is(r.claim.Keep(ctx), ErrAnother) {
				count("displaced")
				s.mu.Lock()
				if s.hold.ID == r.claim.Hold.ID {
					t.Errorf("seed %d: %s was displaced by whom it had succeeded", seed, r.claim.Hold.Words)
				}
				s.mu.Unlock()
			}
		})
	}
	holders := func() (n int, who *rival) {
		s.mu.Lock()
		all := s.all
		s.mu.Unlock()
		for _, r := range all {
			if !r.dead && r.claim.Held() {
				n, who = n+1, r
			}
		}
		return n, who
	}
	for range 2 + random.IntN(3) {
		start(time.Duration(random.Int64N(int64(5 * time.Millisecond))))
	}
	for range 2400 { // four minutes
		time.Sleep(100 * time.Millisecond)
		n, who := holders()
		switch {
		case n > 1:
			t.Errorf("seed %d: %d coordinators hold the claim", seed, n)
			return
		case n == 0:
			count("none")
			continue
		case random.IntN(150) > 0:
			continue
		}
		s.mu.Lock()
		switch random.IntN(3) {
		case 0:
			who.dead = true
			count("killed")
		case 1:
			who.cut = true
			time.AfterFunc(time.Duration(random.Int64N(int64(3*lease))), func() { s.mu.Lock(); who.cut = false; s.mu.Unlock() })
			count("cut")
		case 2:
			who.frozen = true
			time.AfterFunc(time.Duration(random.Int64N(int64(3*lease))),
				func() { s.mu.Lock(); who.frozen = false; s.mu.Unlock() })
			count("frozen")
		}
		s.mu.Unlock()
		start(0)
	}
	mu.Lock()
	if winners > 1 {
		met["taken over"]++
	}
	mu.Unlock()
	// With the one that holds it gone, the next one gets it, after little more than a lease.
	s.mu.Lock()
	for _, r := range s.all {
		r.dead = true
	}
	s.mu.Unlock()
	time.Sleep(time.Second) // what is under way arrives
	s.mu.Lock()
	s.calm = true
	s.mu.Unlock()
	start(0)
	time.Sleep(lease + lease/2)
	if last := s.all[len(s.all)-1]; !last.claim.Held() {
		t.Errorf("seed %d: nobody holds the claim after a lease and a half", seed)
	}
	cancel()
	running.Wait()
}

// Who holds the lock of a results directory succeeds at once who held it before.
func TestASuccessorNeedNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{calm: true}
		r := &rival{shelf: s, dice: rand.New(rand.NewPCG(1, 1))}
		s.all = []*rival{r}
		for _, x := range []struct {
			place string
			waits bool
		}{{"elsewhere", true}, {"here", false}} {
			s.hold, s.rev = Hold{ID: "old", Place: "here"}, 7
			r.claim = &Claim{Register: r, Hold: Hold{ID: NewID(), Place: x.place}}
			began := time.Now()
			if err := r.claim.Take(t.Context()); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(began); (took > Lease) != x.waits || took > Lease+Lease/2 {
				t.Errorf("from %s it took %v", x.place, took)
			}
		}
	})
}

// A replayed register answers with what was before, as often as it has it.
type replayed struct {
	*rival
	before []uint64
}

func (r *replayed) Read(ctx context.Context) (Hold, uint64, error) {
	if len(r.before) == 0 {
		return r.rival.Read(ctx)
	}
	rev := r.before[0]
	r.before = r.before[1:]
	return Hold{ID: "old", Place: "there"}, rev, nil
}

// Who has succeeded another is not displaced by what that wrote before, though a replica still tells it.
func TestAReplicaDisplacesNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{calm: true, hold: Hold{ID: "old", Place: "there"}, rev: 7}
		r := &replayed{rival: &rival{shelf: s, dice: rand.New(rand.NewPCG(1, 1))}}
		c := &Claim{Register: r, Hold: Hold{ID: "new", Place: "here"}}
		r.claim, s.all = c, []*rival{r.rival}
		if err := c.Take(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.before = []uint64{5, 6}
		ctx, cancel := context.WithTimeout(t.Context(), 2*Lease)
		defer cancel()
		if err := c.Keep(ctx); !errors.Is(err, context.DeadlineExceeded) || !c.Held() || len(r.before) > 0 {
			t.Errorf("got %v; held: %v", err, c.Held())
		}
	})
}
