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

// asked runs requests of a client of the stack's own, and returns their records.
func (s served) asked(t *testing.T, call stack.Call, requests int) []measure.Exchange {
	t.Helper()
	call.URL = s.url
	return ask(t, lightly(t, s.cpu, s.d, s.d.Call), call, requests)
}

// ask has a client send requests twice, and returns the records of the second run.
func ask(t *testing.T, client *stack.Conn, call stack.Call, requests int) (all []measure.Exchange) {
	t.Helper()
	call.Timeout = int64(30 * time.Second)
	if _, err := client.Call(within(t), call); err != nil {
		t.Fatal(err)
	}
	for _, record := range []bool{false, true} {
		_, err := client.Run(within(t), stack.Run{Requests: requests, Record: record, Concurrency: 1},
			func(x measure.Exchange) { all = append(all, x) })
		if err != nil {
			t.Fatal(err)
		}
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
			of := func(connection string) []measure.Exchange {
				call.Connection = connection
				return server.asked(t, call, 300)
			}
			each, kept := of("per-request"), of("keep-alive")
			rest := func(x measure.Exchange) time.Duration { return x.Total - sum(x) }
			t.Logf("per-request: total %v, in no phase %v, until the next %v; kept: %v, %v, %v", median(each, total),
				median(each, rest), median(between(each), total), median(kept, total), median(kept, rest),
				median(between(kept), total))
			// Californium: 2.0 times as much was seen, and with the time until the next in it, 3.8 times.
			if got, most := median(each, rest), median(kept, rest)*5/2; got > most {
				t.Errorf("%v of a request are in no phase, want at most %v, 2.5 times that with a kept connection", got, most)
			}
			if got, least := median(between(each), total), 2*median(between(kept), total); f.closes && got < least {
				t.Errorf("%v lie between two requests, want %v or more, twice that with a kept connection", got, least)
			}
		})
	}
}
