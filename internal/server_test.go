package internal

import (
	"os/exec"
	"strings"
	"testing"
)

// The message server is a program of its own: the program that measures has the client
// only, and the one on boards neither.
func TestTheMessageServerIsAProgramOfItsOwn(t *testing.T) {
	for _, program := range []struct {
		args           []string
		client, server bool
	}{
		{args: []string{"../cmd/edgegauge"}, client: true},
		{args: []string{"-tags", "board", "../cmd/edgegauge-board"}},
		{args: []string{"../cmd/edgegauge-hub"}, server: true},
	} {
		out, err := exec.Command("go", append([]string{"list", "-deps"}, program.args...)...).Output()
		if err != nil {
			t.Fatalf("%v: %v", program.args, err)
		}
		deps := string(out)
		if got := strings.Contains(deps, "nats-io/nats.go"); got != program.client {
			t.Errorf("%v has the client: %t", program.args, got)
		}
		if got := strings.Contains(deps, "nats-io/nats-server/v2/server"); got != program.server {
			t.Errorf("%v has the server: %t", program.args, got)
		}
		for _, large := range []string{"sqlite", "parquet"} { // 9 MB, of which the hub needs nothing
			if program.server && strings.Contains(deps, large) {
				t.Errorf("%v has %s", program.args, large)
			}
		}
	}
}
