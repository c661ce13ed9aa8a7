package conform

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stack"
)

// fakeProgram is a program that is ready for anything, counts warmed requests of a
// warm-up, and has records of a recorded run. It notes the credentials it was told.
type fakeProgram struct {
	warmed  int
	failed  stack.Failures
	records []measure.Exchange
	told    map[string]string
}

func (p *fakeProgram) conn(t *testing.T) *stack.Conn {
	in, inFar := net.Pipe()
	out, outFar := net.Pipe()
	t.Cleanup(func() { in.Close(); out.Close() })
	go func() {
		defer outFar.Close()
		for lines := bufio.NewScanner(inFar); lines.Scan(); {
			var c struct {
				Type            string
				Record, Discard bool
				Credentials     map[string]string
			}
			if json.Unmarshal(lines.Bytes(), &c) != nil {
				return
			}
			var says []byte
			switch {
			case c.Type == "serve" || c.Type == "call":
				p.told = c.Credentials
				says = []byte(`{"type":"ready","url":"http://127.0.0.1:1/"}` + "\n")
			case c.Discard || c.Type == "run" && !c.Record:
				says = fmt.Appendf(nil, "{\"type\":\"end\",\"count\":%d,\"failed\":%d,\"first_failure\":%q}\n", p.warmed,
					p.failed.Failed, p.failed.FirstFailure)
			default:
				for _, x := range p.records {
					says = stack.AppendExchange(says, x)
				}
				says = fmt.Appendf(says, "{\"type\":\"end\",\"count\":%d}\n", len(p.records))
			}
			if _, err := outFar.Write(says); err != nil {
				return
			}
		}
	}()
	return stack.NewConn(in, out)
}

// soundPrograms are a server and a client that pass.
func soundPrograms() (server, client *fakeProgram) {
	server, client = &fakeProgram{warmed: 2}, &fakeProgram{warmed: 2}
	for i := range 23 {
		at := time.Duration(i) * time.Millisecond
		client.records = append(client.records,
			measure.Exchange{Seq: uint64(i) + 1, Due: at, Sent: at + 1000, Done: at + 5000,
				Serialization: 500, Deserialization: 500, Total: 9000, Out: 10, In: 20})
		server.records = append(server.records,
			measure.Exchange{Seq: uint64(i) + 1, Serialization: 5, Processing: 5, Total: 20, Out: 20, In: 10})
	}
	return server, client
}

func TestExchangesFindWrongRecords(t *testing.T) {
	for _, tt := range []struct {
		what  string
		spoil func(server, client *fakeProgram)
		want  string
	}{
		{"nothing", func(_, _ *fakeProgram) {}, ""},
		{"a server that counts a request too many", func(s, _ *fakeProgram) { s.warmed = 3 },
			"server counted 3 warm-up requests, want 2"},
		{"a server that counts none", func(s, _ *fakeProgram) { s.warmed = 0 }, "server counted 0 warm-up requests"},
		{"a client that counts one", func(_, c *fakeProgram) { c.warmed = 1 }, "1 requests instead of 2"},
		{"a client whose warm-up failed", func(_, c *fakeProgram) { c.failed.Failed, c.failed.FirstFailure = 1, "no" },
			"client says that 1 of 2 warm-up requests failed: no"},
		{"a client that lost a record", func(_, c *fakeProgram) { c.records = c.records[:22] },
			"client counted 22 requests, want 23"},
		{"a server that lost a record", func(s, _ *fakeProgram) { s.records = s.records[:22] },
			"server counted 22 requests, want 23"},
		{"a failed request", func(_, c *fakeProgram) { c.records[3].Failure = "no answer" }, "request 4: no answer"},
		{"a record out of turn", func(_, c *fakeProgram) { c.records[3].Seq = 7 }, "record 4 has seq 7"},
		{"a request sent before the last was done", func(_, c *fakeProgram) { c.records[3].Sent = 0 }, "request 4: due"},
		{"a request due before the last was done", func(_, c *fakeProgram) { c.records[3].Due = 0 },
			"request 4: due 0s, before the previous one was done"},
		{"a client's phases beyond the total", func(_, c *fakeProgram) { c.records[3].Total = 1 },
			"request 4: serialization"},
		{"a client's connection beyond the total", func(_, c *fakeProgram) { c.records[3].Connection = 9000 },
			"request 4: serialization"},
		{"a server's phases beyond the total", func(s, _ *fakeProgram) { s.records[3].Processing = time.Second },
			"server's record 4: phases"},
		{"bytes that the other side has not", func(s, _ *fakeProgram) { s.records[3].In++ }, "server received 231 B"},
	} {
		server, client := soundPrograms()
		tt.spoil(server, client)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		err := suite{}.exchanges(recorded)(ctx, &stack.Session{Server: server.conn(t), Client: client.conn(t)})
		cancel()
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: got %v, want %q", tt.what, err, tt.want)
		}
	}
}

// The end of a warm-up that got wrong answers says that all failed, and why.
func TestWarmUpsOfWrongAnswers(t *testing.T) {
	for _, tt := range []struct {
		failed stack.Failures
		want   string
	}{
		{stack.Failures{Failed: 2, FirstFailure: "answer is not sorted"}, ""},
		{stack.Failures{}, "says that 0 failed"},
		{stack.Failures{Failed: 1, FirstFailure: "no"}, "says that 1 failed"},
		{stack.Failures{Failed: 2}, "does not say why"},
	} {
		server, client := soundPrograms()
		client.failed = tt.failed
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		err := disbelievesUnrecorded(ctx, &stack.Session{Server: server.conn(t), Client: client.conn(t)})
		cancel()
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%+v: got %v, want %q", tt.failed, err, tt.want)
		}
	}
}

// A stack that says it sees no bodies may count no bytes, and no wrong number of them.
func TestUncountedBytesAreForgivenOnce(t *testing.T) {
	says := map[string]string{stack.CountsBytes: "its framework shows no bodies"}
	for _, tt := range []struct {
		what     string
		spoil    func(x *measure.Exchange)
		deviates map[string]string
		fault    bool
	}{
		{"none counted, and it says so", func(x *measure.Exchange) { x.In, x.Out = 0, 0 }, says, false},
		{"none counted", func(x *measure.Exchange) { x.In, x.Out = 0, 0 }, nil, true},
		{"a byte too many, though it says none", func(x *measure.Exchange) { x.In++ }, says, true},
		{"only answers not counted", func(x *measure.Exchange) { x.Out = 0 }, says, true},
		{"all counted rightly", func(*measure.Exchange) {}, says, false},
	} {
		server, client := soundPrograms()
		for i := range server.records {
			tt.spoil(&server.records[i])
		}
		c := suite{d: stack.Description{Deviates: tt.deviates}}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		err := c.exchanges(recorded)(ctx, &stack.Session{Server: server.conn(t), Client: client.conn(t)})
		cancel()
		if (err != nil) != tt.fault {
			t.Errorf("%s: got %v", tt.what, err)
		}
	}
}

// Each program is told the credentials that its side and security need, and no others.
func TestProgramsAreToldOnlyTheirCredentials(t *testing.T) {
	all := map[string]string{"ca": "a", "cert": "b", "key": "c", "client_key": "d", "psk": "e", "psk_identity": "f",
		"password": "g"}
	for _, tt := range []struct{ security, server, client string }{
		{"none", "", ""},
		{"tls", "ca cert key", "ca"},
		{"dtls-psk", "psk psk_identity", "psk psk_identity"},
	} {
		c := suite{ctx: t.Context(), kit: Kit{Credentials: all}, wish: stack.Wish{Security: tt.security}}
		server, client := soundPrograms()
		if _, err := serve(t.Context(), server.conn(t), c.serve("echo")); err != nil {
			t.Fatal(err)
		}
		if _, err := call(t.Context(), client.conn(t), c.call("echo", "http://127.0.0.1:1/", 1)); err != nil {
			t.Fatal(err)
		}
		for told, want := range map[*fakeProgram]string{server: tt.server, client: tt.client} {
			if got := strings.Join(slices.Sorted(maps.Keys(told.told)), " "); got != want {
				t.Errorf("%s: told %q, want %q", tt.security, got, want)
			}
		}
	}
}

// A stack whose messages must fit one datagram is asked for all sizes but the last.
func TestMessagesMayHaveToFitADatagram(t *testing.T) {
	small := suite{d: stack.Description{Deviates: map[string]string{largeMessages: "no blocks"}}}
	if got := small.messageSizes(); !slices.Equal(got, []int{0, 1, 2, 1023}) {
		t.Errorf("got %v", got)
	}
	if got := (suite{}).messageSizes(); !slices.Equal(got, messageSizes) || got[len(got)-1] != 65536 {
		t.Errorf("got %v", got)
	}
}

// Each size has its requests, and the largest fewer but with one service in the first combination of each encoding.
// Where a stack's heap is bounded, the service that holds most has more of them in the stack's first combination.
func TestLargestMessagesAreFew(t *testing.T) {
	java := stack.Description{Call: stack.Program{Command: []string{"java", "-Xmx{heap}"}}}
	of := func(services ...string) stack.Offer { return stack.Offer{Services: services} }
	for _, n := range messageSizes {
		for _, tt := range []struct {
			c       suite
			asks    bool
			service string
			want    int // of the largest
		}{
			{suite{d: java, leading: true, first: true, offer: of("sort", "concat", "echo")}, true, "sort", manyLarge},
			{suite{d: java, leading: true, first: true, offer: of("sort", "concat", "echo")}, true, "concat", fewLarge},
			{suite{d: java, leading: true, first: true, offer: of("sort", "concat", "echo")}, false, "concat", manyLarge},
			{suite{d: java, leading: true, first: true, offer: of("sort", "concat", "echo")}, false, "sort", fewLarge},
			{suite{d: java, leading: true, first: true, offer: of("sum", "monitor")}, false, "sum", manyLarge},
			{suite{d: java, first: true, offer: of("sort", "concat", "echo")}, true, "sort", fewLarge},
			{suite{leading: true, first: true, offer: of("sort", "concat", "echo")}, true, "sort", fewLarge},
			{suite{leading: true, first: true, offer: of("sort", "concat", "echo")}, true, "echo", recorded},
			{suite{first: true, offer: of("sort", "echo")}, false, "echo", recorded},
			{suite{offer: of("sort", "echo")}, false, "echo", fewLarge},
		} {
			want := recorded
			if n == 65536 {
				want = tt.want
			}
			if got := tt.c.requests(tt.asks, tt.service, n); got != want {
				t.Errorf("n %d of %s, leading %v, first %v, asks %v: %d requests, want %d", n, tt.service, tt.c.leading,
					tt.c.first, tt.asks, got, want)
			}
		}
	}
	if fewLarge < 2 || fewLarge >= recorded || manyLarge < recorded {
		t.Errorf("%d of the largest, %d of others, %d of those that hold most", fewLarge, recorded, manyLarge)
	}
}

// A client of a stack that shows no bodies uses connections as told, all the same; and one that asks somewhere else
// than it was told is found.
func TestConnectionsAreThoseOfTheURL(t *testing.T) {
	for _, tt := range []struct{ what, transport, want string }{
		{"a client without bytes", "coap", ""}, {"a client that asks elsewhere", "http", "none of its connections"},
	} {
		server, client := soundPrograms()
		for i := range server.records {
			server.records[i].In, server.records[i].Out = 0, 0
		}
		conn := client.conn(t)
		c := suite{ctx: t.Context(), wish: stack.Wish{Encoding: "json", Security: "none", Transport: tt.transport},
			d: stack.Description{Deviates: map[string]string{stack.CountsBytes: "its framework shows no bodies"}}}
		c.kit.Start = func(context.Context, stack.Description, string) (Running, error) {
			return &running{conn, io.NopCloser(nil)}, nil
		}
		err := c.connection(server.conn(t), &program{c: c, verb: "call"}, "echo", "http://127.0.0.1:1/echo", "keep-alive")
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", tt.what, err, tt.want)
		}
	}
}

// A connection that is to be kept is kept: a client that makes one anew now and then has handshakes in its round trips.
func TestConnectionsAreAsManyAsTold(t *testing.T) {
	for how, want := range map[string]int{"keep-alive": 1, "pipelined": 1, "multiplexed": 1, "per-request": 25} {
		for many := range 30 {
			if err := connectedAsTold(how, many); (err == nil) != (many == want) {
				t.Errorf("%s, %d connections: got %v, want %d", how, many, err, want)
			}
		}
	}
}
