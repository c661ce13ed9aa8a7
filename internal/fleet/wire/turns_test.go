package wire

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// Who says most is heard no more often than others, and takes the room of one message.
func TestTurns(t *testing.T) {
	q := newTurns()
	say := func(bench string, n int) { q.say(bench, &nats.Msg{Data: fmt.Append(nil, n)}) }
	for n := range 100_000 {
		say("thief", n)
	}
	say("a", 1)
	say("b", 1)
	say("a", 2)
	for n := range 100_000 {
		say("thief", n)
	}
	if len(q.newest) != 3 || len(q.line) != 3 {
		t.Errorf("%d messages and %d turns are kept", len(q.newest), len(q.line))
	}
	for _, want := range []string{"thief 99999", "a 2", "b 1"} {
		bench, m, ok := q.next(t.Context())
		if got := fmt.Sprintf("%s %s", bench, m.Data); got != want || !ok {
			t.Errorf("got %s, want %s", got, want)
		}
		say("thief", 99999)
	}
	if bench, _, _ := q.next(t.Context()); bench != "thief" {
		t.Errorf("the last is of %s", bench)
	}
	q.say("a", &nats.Msg{})
	<-q.ready
	q.say("a", &nats.Msg{}) // while its turn begins
	if bench, _, ok := q.take(); bench != "a" || !ok {
		t.Errorf("got %q", bench)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, _, ok := q.next(ctx); ok {
		t.Error("there is one more")
	}
}
