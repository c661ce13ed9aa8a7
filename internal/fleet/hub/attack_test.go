package hub

import (
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"edgegauge.example/edgegauge/internal/fleet"
	"edgegauge.example/edgegauge/internal/fleet/admit"
	"edgegauge.example/edgegauge/internal/store"
)

// A bench that was stolen does the worst that its key allows while others measure, and strangers
// open connections: each block counts once, is measured by whom it was given to, and no lease is lost.
func TestAStudyUnderAttack(t *testing.T) {
	if testing.Short() {
		t.Skip("loads the machine")
	}
	l := newLab(t, "a", "b", "thief")
	nc, _ := l.as("thief")
	orders := make(chan fleet.Order, 64)
	if _, err := nc.Subscribe(admit.AssignSubject("thief"), func(m *nats.Msg) {
		var o fleet.Order
		if json.Unmarshal(m.Data, &o) == nil {
			select {
			case orders <- o:
			default:
			}
		}
	}); err != nil {
		t.Fatal(err)
	}
	answers, err := nc.SubscribeSync(admit.Inbox("thief") + ".>")
	if err != nil {
		t.Fatal(err)
	}
	var over sync.WaitGroup
	var said atomic.Int64
	ends := make(chan struct{})
	attack := func(every time.Duration, f func(i int)) {
		over.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-ends:
					return
				case <-time.After(every):
					f(i)
				}
			}
		})
	}
	defer over.Wait()
	defer close(ends)
	say := func(subject string, text []byte) {
		said.Add(1)
		nc.PublishMsg(&nats.Msg{Subject: subject, Reply: admit.Inbox("thief") + ".x", Data: text})
	}
	beat := func(b fleet.Beat) {
		text, _ := json.Marshal(b)
		say(admit.AlivePrefix+"thief", text)
	}
	attack(10*time.Millisecond, func(i int) { // in the name of others, and with many boots of its own
		beat(fleet.Beat{Bench: []string{"a", "b"}[i%2], Boot: fmt.Sprint(i), Machine: []string{"a", "b"}[i%2], Program: "v1"})
	})
	attack(10*time.Millisecond, func(int) { say(admit.AlivePrefix+"thief", []byte(strings.Repeat("{", 1000))) })
	var run string
	attack(20*time.Millisecond, func(i int) { // results of what others measure, of all attempts, now and of before
		select {
		case o := <-orders:
			run = o.Run
		default:
		}
		text, _ := json.Marshal(fleet.Bundle{Task: fleet.Task{Run: run, Block: 1 + i%6, Attempt: 1 + i%4},
			Bench: []string{"a", "b"}[i%2], Boot: "x"})
		say(admit.ResultPrefix+"thief", text)
	})
	attack(100*time.Millisecond, func(int) { say(admit.ResultPrefix+"thief", make([]byte, admit.MostPayload-100)) })
	attack(20*time.Millisecond, func(int) { say("$O.raw_thief.C.x", make([]byte, 1<<20)) })
	for range 300 { // who never says who they are
		c, err := net.Dial("tcp", strings.TrimPrefix(l.hub.URL(), "nats://"))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	for said.Load() < 100 { // it is under way
		time.Sleep(10 * time.Millisecond)
	}
	before := said.Load()
	l.measures(12, 3*time.Minute, func(int) {}, func(s *store.Store) {
		all, err := s.Attempts(0)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range all {
			if x.State == store.Valid && x.Bench.Name == "thief" {
				t.Errorf("trial %d counts as the thief's", x.Trial)
			}
		}
	})
	if n := said.Load() - before; n < 100 {
		t.Errorf("only %d attacks while others measured", n)
	}
	kept := 0
	for {
		m, err := answers.NextMsg(100 * time.Millisecond)
		if err != nil {
			break
		}
		var a fleet.Answer
		if json.Unmarshal(m.Data, &a) == nil && a.Verdict == fleet.Kept {
			kept++
		}
	}
	if kept > 0 {
		t.Errorf("%d forged results were said to be kept", kept)
	}
}
