package hub

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"edgegauge.example/edgegauge/internal/fleet"
	"edgegauge.example/edgegauge/internal/fleet/admit"
	"edgegauge.example/edgegauge/internal/fleet/wire"
)

// Two benches of an order speak over the hub; a third cannot speak in the name of either, and what belongs to
// another order is not heard. A hub that is gone ends it.
func TestBenchesSpeak(t *testing.T) {
	l := newLab(t, "a", "b", "c")
	ends := map[string]*wire.Bench{}
	for _, name := range []string{"a", "b"} {
		end, err := wire.OpenBench(l.who[name])
		if err != nil {
			t.Fatal(err)
		}
		defer end.Close()
		ends[name] = end
	}
	task := fleet.Task{Run: fleet.NewID(), Block: 3, Attempt: 2}
	other := make(chan io.ReadWriteCloser, 1)
	go func() {
		time.Sleep(300 * time.Millisecond) // who comes first waits
		rw, err := ends["b"].Join(t.Context(), "a", task)
		if err != nil {
			t.Error(err)
		}
		other <- rw
	}()
	a, err := ends["a"].Join(t.Context(), "b", task)
	if err != nil {
		t.Fatal(err)
	}
	b := <-other

	thief, refused := l.as("c")
	for _, subject := range []string{admit.JoinSubject("a", "b"), admit.JoinSubject("b", "a")} {
		forged := nats.NewMsg(subject)
		forged.Header.Set("Edgegauge-Task", task.Run+"-3-2")
		forged.Header.Set("Edgegauge-Seq", "1")
		forged.Data = []byte("forged")
		thief.PublishMsg(forged)
		if thief.Flush(); errors.Is(<-refused, nats.ErrPermissionViolation) == false {
			t.Errorf("%s is open to others", subject)
		}
	}
	own, _ := l.as("a") // the same bench, about another order
	stale := nats.NewMsg(admit.JoinSubject("b", "a"))
	stale.Header.Set("Edgegauge-Task", task.Run+"-3-1")
	stale.Header.Set("Edgegauge-Seq", "1")
	stale.Data = []byte("stale")
	own.PublishMsg(stale)
	own.Flush()

	text := make([]byte, 300_000)
	rand.Read(text)
	for _, way := range [][2]io.ReadWriter{{a, b}, {b, a}} {
		go func() {
			for rest := text; len(rest) > 0; rest = rest[min(len(rest), 16<<10):] {
				if _, err := way[0].Write(rest[:min(len(rest), 16<<10)]); err != nil {
					t.Error(err)
				}
			}
		}()
		got := make([]byte, len(text))
		if _, err := io.ReadFull(way[1], got); err != nil || !bytes.Equal(got, text) {
			t.Fatalf("what came differs from what was sent: %v", err)
		}
	}

	l.hub.Stop()
	if n, err := a.Read(make([]byte, 1)); n > 0 || !errors.Is(err, fleet.ErrCut) {
		t.Errorf("without a hub: got %d B, %v", n, err)
	}
	if _, err := a.Write([]byte("x")); !errors.Is(err, fleet.ErrCut) {
		t.Errorf("without a hub: got %v", err)
	}
	l.start()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := ends["a"].Join(ctx, "c", task); !errors.Is(err, fleet.ErrCut) {
		t.Errorf("a bench that is not there: got %v", err)
	}
}

// A stolen key that floods what benches say to each other: to benches that do not measure with it nothing of it
// comes. Of whom it is in a team with, it ends the conversation with itself, takes little memory, and no other.
func TestASpeechUnderAttack(t *testing.T) {
	if testing.Short() {
		t.Skip("loads the machine")
	}
	l := newLab(t, "a", "b", "thief")
	task := fleet.Task{Run: fleet.NewID(), Block: 1, Attempt: 1}
	ends := map[string]*wire.Bench{}
	for _, name := range []string{"a", "b", "thief"} {
		end, err := wire.OpenBench(l.who[name])
		if err != nil {
			t.Fatal(err)
		}
		defer end.Close()
		ends[name] = end
	}
	join := func(one, other string) (io.ReadWriteCloser, io.ReadWriteCloser) {
		t.Helper()
		far := make(chan io.ReadWriteCloser, 1)
		go func() {
			rw, err := ends[other].Join(t.Context(), one, task)
			if err != nil {
				t.Error(err)
			}
			far <- rw
		}()
		near, err := ends[one].Join(t.Context(), other, task)
		if err != nil {
			t.Fatal(err)
		}
		return near, <-far
	}
	a, b := join("a", "b")
	talks := func(when string) {
		t.Helper()
		for i := range 200 {
			text := bytes.Repeat([]byte{byte(i)}, 10_000)
			go a.Write(text)
			got := make([]byte, len(text))
			if _, err := io.ReadFull(b, got); err != nil || !bytes.Equal(got, text) {
				t.Fatalf("%s: message %d: %v", when, i, err)
			}
		}
	}
	nc, _ := l.as("thief")
	say := func(to, seq string, size int) {
		m := nats.NewMsg(admit.JoinSubject(to, "thief"))
		m.Header.Set("Edgegauge-Task", fmt.Sprintf("%s-%d-%d", task.Run, task.Block, task.Attempt))
		m.Header.Set("Edgegauge-Seq", seq)
		m.Data = make([]byte, size)
		if err := nc.PublishMsg(m); err != nil {
			t.Fatal(err)
		}
	}
	for range 100 {
		say("a", "1", 1<<20)
		say("b", "?", 1<<20)
	}
	talks("with a stranger's flood")

	stolen, real := join("a", "thief")
	defer real.Close()
	asked, err := nc.SubscribeSync(admit.JoinSubject("thief", "a"))
	if err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		say("a", "?", 10)
	}
	nc.Flush()
	talks("while it is asked without end")
	if n, _, _ := asked.Pending(); n > 100 {
		t.Errorf("1000 questions got %d answers", n)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range 120 { // nobody reads them
		say("a", fmt.Sprint(i+1), 1<<20)
	}
	nc.Flush()
	talks("with the flood of a helper")
	more := int64(math.MaxInt64)
	for end := time.Now().Add(30 * time.Second); more > 64<<20 && time.Now().Before(end); time.Sleep(time.Millisecond) {
		runtime.GC() // what is on its way on a busy machine is not kept
		runtime.ReadMemStats(&after)
		more = int64(after.HeapAlloc) - int64(before.HeapAlloc)
	}
	if more > 64<<20 {
		t.Errorf("120 MiB that nobody read take %d MiB", more>>20)
	}
	if _, err := io.Copy(io.Discard, stolen); !errors.Is(err, fleet.ErrCut) {
		t.Errorf("the flooded conversation ended with %v", err)
	}
	talks("after it")
	if n := l.hub.server.NumSlowConsumersClients(); n > 0 {
		t.Errorf("the hub hung up on %d who did not listen", n)
	}
}

// One end that is closed ends the other as a file ends.
func TestASpeechEnds(t *testing.T) {
	l := newLab(t, "a", "b")
	task := fleet.Task{Run: fleet.NewID(), Block: 1, Attempt: 1}
	ends := make(chan io.ReadWriteCloser, 2)
	for _, names := range [][2]string{{"a", "b"}, {"b", "a"}} {
		end, err := wire.OpenBench(l.who[names[0]])
		if err != nil {
			t.Fatal(err)
		}
		defer end.Close()
		go func() {
			rw, err := end.Join(t.Context(), names[1], task)
			if err != nil {
				t.Error(err)
			}
			ends <- rw
		}()
	}
	one, other := <-ends, <-ends
	if _, err := one.Write([]byte("last words")); err != nil {
		t.Fatal(err)
	}
	if err := one.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(other); err != nil || string(got) != "last words" {
		t.Errorf("got %q, %v", got, err)
	}
}
