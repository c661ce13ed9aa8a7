package hub

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"edgegauge.example/edgegauge/internal/fleet"
	"edgegauge.example/edgegauge/internal/fleet/admit"
	"edgegauge.example/edgegauge/internal/fleet/wire"
)

// A coordinator asks a bench whether it can measure a study, and hears no other one in its place. No bench can ask, nor
// answer for another. One that is not there answers nothing.
func TestABenchIsAsked(t *testing.T) {
	l := newLab(t, "a", "b", "c")
	board, err := wire.OpenBoard(l.who[""])
	if err != nil {
		t.Fatal(err)
	}
	defer board.Close()
	asked := make(chan fleet.Question, 9)
	for name, r := range map[string]fleet.Reply{"a": {Why: "no frob", Lacks: map[int]string{3: "x"}}, "b": {Busy: true}} {
		end, err := wire.OpenBench(l.who[name])
		if err != nil {
			t.Fatal(err)
		}
		defer end.Close()
		err = end.Answer(func(_ context.Context, q fleet.Question) fleet.Reply {
			asked <- q
			return r
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := end.Beat(t.Context(), fleet.Beat{Boot: "1"}); err != nil {
			t.Fatal(err)
		}
		<-board.Alive() // it listens: what it said before has arrived, too
		q := fleet.Question{Study: []byte("study: " + name), Overrides: []string{"n=1"}, Helps: name == "b"}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if got, err := board.Ask(ctx, name, q); err != nil || !reflect.DeepEqual(got, r) {
			t.Errorf("%s: got %+v, %v, want %+v", name, got, err, r)
		}
		if got := <-asked; !reflect.DeepEqual(got, q) {
			t.Errorf("%s was asked %+v, want %+v", name, got, q)
		}
	}
	thief, refused := l.as("c")
	for _, subject := range []string{admit.JoinSubject("a", admit.Asker), admit.JoinSubject(admit.Asker, "a")} {
		thief.PublishMsg(nats.NewMsg(subject))
		if thief.Flush(); !errors.Is(<-refused, nats.ErrPermissionViolation) {
			t.Errorf("%s is open to others", subject)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if got, err := board.Ask(ctx, "c", fleet.Question{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("of a bench that answers nothing: got %+v, %v", got, err)
	}
}
