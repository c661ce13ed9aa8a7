package javatest

import (
	"path/filepath"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/stack/stacktest"
)

// A served stack is its server on a CPU, and what the server was told.
type served struct {
	d   stack.Description
	cpu int
	url string
}

// serving starts a stack's server of what a client is to call.
func serving(t *testing.T, cpu int, name string, call stack.Call) served {
	t.Helper()
	d := stacktest.Built(t, filepath.Join("..", name))
	return served{d, cpu, serve(t, lightly(t, cpu, d, d.Serve), call)}
}

// serve has a server serve what a client is to call, and returns its URL.
func serve(t *testing.T, server *stack.Conn, call stack.Call) string {
	t.Helper()
	ready, err := server.Serve(within(t), stack.Serve{Service: call.Service, Encoding: call.Encoding,
		Security: call.Security, Transport: call.Transport, Host: "127.0.0.1", Limits: call.Limits,
		Directory: t.TempDir(), Credentials: call.Credentials, Options: call.Options})
	if err != nil {
		t.Fatal(err)
	}
	return ready.URL
}

// ask has a client send requests twice, and returns the records of the second run.
func ask(t *testing.T, client *stack.Conn, call stack.Call, requests int) []measure.Exchange {
	t.Helper()
	call.Timeout = int64(30 * time.Second)
	if _, err := client.Call(within(t), call); err != nil {
		t.Fatal(err)
	}
	send(t, client, requests, false)
	return send(t, client, requests, true)
}

// send has a client send requests, and returns their records, where they are recorded.
func send(t *testing.T, client *stack.Conn, requests int, record bool) (all []measure.Exchange) {
	t.Helper()
	_, err := client.Run(within(t), stack.Run{Requests: requests, Record: record, Concurrency: 1},
		func(x measure.Exchange) { all = append(all, x) })
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range all {
		if x.Failure != "" {
			t.Fatalf("request %d failed: %s", x.Seq, x.Failure)
		}
	}
	return all
}

// between are the records with the time that lies between each and the next as total.
func between(all []measure.Exchange) []measure.Exchange {
	gaps := make([]measure.Exchange, len(all)-1)
	for i := range gaps {
		gaps[i].Total = all[i+1].Due - all[i].Due - all[i].Total
	}
	return gaps
}

// quick is what a tenth of the records does not exceed: what belongs to each request is in all of them, what a busy
// machine adds is not, and the longer one takes the more often.
func quick(xs []measure.Exchange, of func(measure.Exchange) time.Duration) time.Duration {
	return sorted(xs, of)[len(xs)/10]
}

// inNoPhase is what of a request's total lies in none of its phases.
func inNoPhase(x measure.Exchange) time.Duration { return x.Total - sum(x) }

func connection(x measure.Exchange) time.Duration { return x.Connection }

const (
	mostOpening  = 2.2 // Californium: 1.0 to 1.4 was seen, and 4.1 where opening was no phase; Axis2: 1.9
	mostOutside  = 1.0 / 3
	leastClosing = 2.0
	fresh        = 3 // rounds after which other processes go on: one that compiled oddly does so for ever
)

// A connection for each request is opened within the total, as connection, and
// closed after it, as that of a stack in another language: what a framework needs
// to take a client down is in no time of a request.
func TestOpeningIsConnectionAndClosingIsOutside(t *testing.T) {
	for _, f := range []struct {
		name, encoding, transport string
		closes                    bool // something beside the socket, which Axis2's client closes with the end of the answer
	}{
		{"californium", "protobuf", "coap", true}, {"cxf", "xml", "http", true}, {"cxf4", "xml", "http", true},
		{"cxf-jaxws", "soap11", "http", true}, {"axis2", "soap11", "http", false},
		{"axis2-18", "soap11", "http", false},
	} {
		t.Run(f.name, func(t *testing.T) {
			cpu := ownCPU(t)
			call := stack.Call{Service: "echo", Encoding: f.encoding, Security: "none", Transport: f.transport,
				Message: stack.Message{Seed: 7, N: 40}, Limits: stack.Limits{Body: 16e6}}
			server := serving(t, cpu, f.name, call) // one for both: how a client connects is the client's
			calling := func(connection string) *stack.Conn {
				c := call
				c.URL, c.Connection, c.Timeout = server.url, connection, int64(30*time.Second)
				client := lightly(t, cpu, server.d, server.d.Call)
				if _, err := client.Call(within(t), c); err != nil {
					t.Fatal(err)
				}
				send(t, client, 150, false)
				return client
			}
			// Both take turns, and more rounds follow where the machine's other work lies in one of them only.
			var perRequest, keepAlive *stack.Conn
			var opening, outside, closing []float64
			for len(opening) < 3*fresh {
				if len(opening)%fresh == 0 {
					perRequest, keepAlive = calling("per-request"), calling("keep-alive")
				}
				each, kept := send(t, perRequest, 50, true), send(t, keepAlive, 50, true)
				more, least := quick(each, inNoPhase), quick(kept, inNoPhase)
				opening = append(opening, float64(more)/float64(least))
				outside = append(outside, float64(more-least)/float64(more-least+quick(each, connection)))
				closing = append(closing, float64(quick(between(each), total))/float64(quick(between(kept), total)))
				opens := middle(opening) <= mostOpening || middle(outside) <= mostOutside
				if len(opening) >= fresh && opens && (!f.closes || middle(closing) >= leastClosing) {
					t.Logf("%.2f in no phase, %.2f of opening outside, %.2f between", opening, outside, closing)
					return
				}
			}
			t.Errorf("with a connection of its own, %.2f times as much of a request is in no phase as with a kept one, want "+
				"at most %.1f, or %.2f of what opening takes, want at most %.2f; %.2f times as much lies between two, want %.1f "+
				"or more", opening, mostOpening, outside, mostOutside, closing, leastClosing)
		})
	}
}
