package main

import (
	"strings"
	"testing"
)

// That the server closed kept connections is said only where no request failed, after which the client closes one.
func TestProbeSaysWhoClosedConnections(t *testing.T) {
	for _, tt := range []struct {
		total  total
		server bool
	}{{total{sent: 100, reconnects: 10}, true}, {total{sent: 100, reconnects: 10, failed: 10}, false},
		{total{sent: 100, reconnects: 10, repetitions: 10}, false}} {
		text := strings.Join(tt.total.warnings(), "; ")
		if got := strings.Contains(text, "10 requests needed a new connection, since the server had closed"); got != tt.server ||
			got == strings.Contains(text, "as the one after a request that failed may") {
			t.Errorf("%+v: %s", tt.total, text)
		}
	}
}
