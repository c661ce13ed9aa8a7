package wire

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"edgegauge.example/edgegauge/internal/fleet"
)

// silent is a bucket whose object begins and never goes on, as when its hub was started again.
type silent struct {
	jetstream.ObjectStore
	jetstream.ObjectResult
	begun chan struct{} // closed at the second read
	end   chan struct{}
	reads int
}

func (s *silent) Get(context.Context, string, ...jetstream.GetObjectOpt) (jetstream.ObjectResult, error) {
	return s, nil
}

func (s *silent) Close() error { return nil }

// Read is deaf to the context, as the library's is.
func (s *silent) Read(p []byte) (int, error) {
	if s.reads++; s.reads == 1 {
		return copy(p, "abc"), nil
	}
	close(s.begun)
	<-s.end
	return 0, errors.New("the test is over")
}

// A file of which no more comes is given up when the connection is, not at the deadline for the whole file.
func TestAFetchEndsWithTheConnection(t *testing.T) {
	s := &silent{begun: make(chan struct{}), end: make(chan struct{})}
	defer close(s.end)
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		<-s.begun
		cancel(nats.ErrDisconnected)
	}()
	dir := t.TempDir()
	p := parcel{"object", []fleet.File{{Name: "a", Bytes: 6}}}
	if err := fetchParcel(ctx, s, p, newUnpacker(dir), func() {}); !errors.Is(err, nats.ErrDisconnected) {
		t.Errorf("got %v", err)
	}
	if text, err := os.ReadFile(dir + "/a"); string(text) != "abc" {
		t.Errorf("got %q, %v", text, err)
	}
}
