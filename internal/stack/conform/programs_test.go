package conform

import (
	"context"
	"io"
	"testing"

	"edgegauge.example/edgegauge/internal/stack"
)

// A server that is asked something is a new program for each security, as in a trial; one that is only there beside it
// need not be.
func TestOnlyAServerBesideChangesItsSecurity(t *testing.T) {
	started := 0
	c := suite{ctx: t.Context()}
	c.kit.Start = func(context.Context, stack.Description, string) (Running, error) {
		started++
		return &running{(&fakeProgram{again: true}).conn(t), io.NopCloser(nil)}, nil
	}
	held := newPrograms(c)
	for _, tt := range []struct {
		what string
		h    *server
		want int
	}{{"the server", &held.server, 3}, {"the one beside it", &held.second, 1}} {
		started = 0
		for _, security := range []string{"none", "none", "tls", "wss-rsa"} {
			c.wish.Security = security
			if err := tt.h.use(c.serve("echo"), func(*stack.Conn, string) error { return nil }); err != nil {
				t.Fatal(err)
			}
		}
		if started != tt.want {
			t.Errorf("%s of three securities: %d programs, want %d", tt.what, started, tt.want)
		}
	}
}
