package measure_test

import (
	"testing"

	"edgegauge.example/edgegauge/internal/measure"
)

// The words are those of the drivers, the stacks and the skeletons.
func TestLate(t *testing.T) {
	for failure, want := range map[string]bool{
		"no response within 5s": true, "no answer in time": true, "no answer to a ping in time": true,
		"no response in time": true, "no answer within 500 ms": true, "no answer to any retransmission": true,
		"no notification of the request came": true, "the run ended": true,
		"Read timed out": true, "SocketTimeoutException": true, "Operation interrupted or timed out": true,
		"connect: connection refused": true, "cannot connect: Connection refused": true, "connect ECONNREFUSED": true,
		"cannot connect: Connection timed out": true, "Resource temporarily unavailable (os error 11)": true,
		"TaskCanceledException: The request was canceled due to the configured HttpClient.Timeout of 5 s": true,

		"": false, "status 500": false, "status 503, not 200": false, "answer is not sorted": false,
		"connection reset before a response": false, "connection closed in mid-response": false,
		"status 500: the database timed out":           false,
		"HTTP/1.1 504 Gateway Timeout: no answer":      false,
		"504 Gateway Timeout":                          false,
		"5.04 Gateway Timeout":                         false,
		"gRPC status 4 (DEADLINE_EXCEEDED)":            false,
		"the service refused: timed out":               false,
		"the broker refused with reason 0x97":          false,
		"Client received SOAP Fault: timed out":        false,
		"the server rejected the request with a reset": false,
		"reset by the server":                          false, "nobody listens there": false,
	} {
		if got := measure.Late(failure); got != want {
			t.Errorf("%q: late is %v, want %v", failure, got, want)
		}
	}
}
