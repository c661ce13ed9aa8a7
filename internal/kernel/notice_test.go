package kernel

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"
	"time"
)

// Whoever reads while another writes gets a whole text, never half of two.
func TestNoticeIsReadWhole(t *testing.T) {
	n, err := NewNotice("edgegauge-test")
	if err != nil {
		t.Fatal(err)
	}
	if b, err := ReadNotice(os.Getpid(), "edgegauge-test"); err != nil || len(b) != 0 {
		t.Errorf("an empty one reads %q, %v", b, err)
	}
	stop, ended := make(chan struct{}), make(chan int)
	go func() {
		texts := [2][]byte{bytes.Repeat([]byte("a"), 900), bytes.Repeat([]byte("b"), 400)}
		for i := 0; ; i++ {
			select {
			case <-stop:
				ended <- i
				return
			default:
				n.Write(texts[i%2])
			}
		}
	}()
	seen := map[string]int{}
	for end := time.Now().Add(200 * time.Millisecond); time.Now().Before(end) || len(seen) < 2; {
		b, err := ReadNotice(os.Getpid(), "edgegauge-test")
		if err != nil {
			continue // ten times a write came between
		}
		if len(b) > 0 {
			seen[string(b)]++
		}
	}
	close(stop)
	writes := <-ended
	if len(seen) != 2 || seen[strings.Repeat("a", 900)] == 0 || seen[strings.Repeat("b", 400)] == 0 {
		t.Errorf("of %d writes %d different texts were read", writes, len(seen))
	}
	n.Write(make([]byte, 70_000)) // left out
	if err := n.Close(); err != nil {
		t.Error(err)
	}
	if _, err := ReadNotice(os.Getpid(), "edgegauge-test"); !errors.Is(err, ErrNoNotice) {
		t.Errorf("one that has ended: %v", err)
	}
}

func BenchmarkNoticeWrite(b *testing.B) {
	n, err := NewNotice("edgegauge-bench")
	if err != nil {
		b.Fatal(err)
	}
	defer n.Close()
	text := bytes.Repeat([]byte("x"), 200)
	for b.Loop() {
		n.Write(text)
	}
}
