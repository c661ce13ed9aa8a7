package fleet

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// A hub that takes its time, as one of a cluster that elects a leader, holds nobody up: while it writes one order, or
// makes one bench's bucket anew, all others are heard and get their answers.
func TestASlowHubHoldsNobodyUp(t *testing.T) {
	for _, slow := range []string{"order", "bucket"} {
		onStage(t, nil, func(t *testing.T, s *stage) {
			asked := &s.tried
			if slow == "bucket" {
				asked = &s.mended
				s.beat("a", "1", nil)
				done := func(b *Beat) { b.Task, b.Done = s.of("a").Task, true }
				s.beat("a", "1", done) // and its results do not arrive
				time.Sleep(Lease - time.Second)
				s.beat("a", "1", done)
			}
			s.playedBoard.mu.Lock()
			s.slow, *asked = slow, 0
			s.playedBoard.mu.Unlock()
			if slow == "order" {
				s.beat("a", "1", nil)
			}
			time.Sleep(Lease / 2)
			heard, answers := 0, make(chan Answer, 20)
			for i := range cap(answers) {
				name := fmt.Sprintf("b%02d", i)
				select {
				case s.alive <- Beat{Bench: name, Boot: "1", Machine: name, Program: "v1"}:
					heard++
				case <-time.After(time.Second):
				}
				select {
				case s.results <- Delivery{Bundle: Bundle{Task: Task{NewID(), 1, 1}, Bench: name, Boot: "1"},
					Answer: func(a Answer) { answers <- a }}:
				case <-time.After(time.Second):
				}
			}
			synctest.Wait()
			s.playedBoard.mu.Lock()
			if *asked != 1 || heard != cap(answers) || len(answers) != cap(answers) {
				t.Errorf("while the hub was asked %d times for one %s, %d beats were heard and %d results answered, of %d",
					*asked, slow, heard, len(answers), cap(answers))
			}
			s.slow = ""
			s.playedBoard.mu.Unlock()
			close(s.free)
			if a, b := s.of("a"), s.of("b00"); a.Block != 1 || b.Block != 2 {
				t.Errorf("afterwards a has block %d and b00 block %d", a.Block, b.Block)
			}
		})
	}
}
