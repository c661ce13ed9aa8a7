package conform

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"time"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/service"
	"edgegauge.example/edgegauge/internal/stack"
)

// asks has the stack's client ask a peer's server.
func (c suite) asks(client *program, peer stack.Description, service string, n int) error {
	return c.answered(peer, c.serve(service), client, n)
}

// fixed is sweep for a stack whose server must know the size beforehand.
func (c suite) fixed(client *program, service string) error {
	for _, n := range []int{2, 1023} {
		s := c.serve(service)
		s.Message.N = n
		if err := c.answered(c.d, s, client, n); err != nil {
			return err
		}
	}
	return nil
}

// answered has the stack's client ask a new server of d for messages of size n.
func (c suite) answered(d stack.Description, s stack.Serve, client *program, n int) error {
	return c.with(d, "serve", func(ctx context.Context, srv *stack.Conn) error {
		ready, err := serve(ctx, srv, s)
		if err != nil {
			return fmt.Errorf("serve: %w", err)
		}
		return c.sweep(srv, c.d, client, s.Service, ready.URL, []int{n})
	})
}

// sweep runs the requests of each n and checks what both sides recorded. d is the
// client's stack; client holds the one of the stack under the kit.
func (c suite) sweep(srv *stack.Conn, d stack.Description, client *program, s, url string, ns []int) error {
	for _, n := range ns {
		asked, exchanges := c.call(s, url, n), c.exchanges(c.requests(d.Name == c.d.Name, s, n))
		var err error
		if d.Name == c.d.Name {
			err = c.seated(client, asked, srv, exchanges)
		} else {
			err = c.with(d, "call", func(ctx context.Context, cl *stack.Conn) error {
				if _, err := call(ctx, cl, asked); err != nil {
					return fmt.Errorf("call: %w", err)
				}
				return exchanges(ctx, &stack.Session{Server: srv, Client: cl})
			})
		}
		if err != nil {
			return fmt.Errorf("n %d: %w", n, err)
		}
	}
	return nil
}

// serve and call make a program ready as a session does, which tells each side only
// the credentials that it needs.
func serve(ctx context.Context, to *stack.Conn, s stack.Serve) (stack.Ready, error) {
	return (&stack.Session{Server: to}).StartServer(ctx, s)
}

func call(ctx context.Context, to *stack.Conn, s stack.Call) (stack.Ready, error) {
	return (&stack.Session{Client: to}).StartClient(ctx, s)
}

// seated makes the program in a program a client of srv, and runs do with both.
func (c suite) seated(p *program, s stack.Call, srv *stack.Conn, do func(context.Context, *stack.Session) error) error {
	run := c.d.Name + " runs"
	if err := c.hung.again(run); err != nil { // it need not get ready
		return err
	}
	ask := func(ctx context.Context, to *stack.Conn) (stack.Ready, error) { return call(ctx, to, s) }
	if _, err := p.ask(ask); err != nil {
		return err
	}
	err := c.patiently(run, func(ctx context.Context) error {
		return do(ctx, &stack.Session{Server: srv, Client: p.running.Conn()})
	})
	if err != nil {
		p.close()
		return err
	}
	return p.rest()
}

// The requests of a session.
const warmUps, recorded = 2, 23

// fewLarge is how many are recorded of the largest messages, where a sweep of smaller ones counts as many as usual:
// all are equal, so what the first shows of a size, the last shows too, and they take most of the kit's time.
const fewLarge = 5

// manyLarge is how many are recorded of the largest messages that hold most, where a bounded heap is to run full of
// what is kept of each: with the warm-up's, 30 of 65536 texts hold more than 100 MB decoded, as 25 of each service did.
const manyLarge = 28

// requests is how many of n are recorded. In each encoding one service has as many of the largest messages as of
// others. In the stack's first the service that holds most has many, of what a server is asked or a client is
// answered, if its heap is bounded: where there is no bound, five show as much.
func (c suite) requests(asks bool, s string, n int) int {
	most := string(service.Concat)
	if asks {
		most = string(service.Sort)
	}
	switch bounded := c.d.Serve.TakesHeap() || c.d.Call.TakesHeap(); {
	case n != messageSizes[len(messageSizes)-1]:
		return recorded
	case c.leading && bounded && (s == most || !slices.Contains(c.offer.Services, most)):
		return manyLarge
	case c.first && s == c.principal():
		return recorded
	}
	return fewLarge
}

// counted has a session of a warm-up of 2 and want recorded requests.
func counted(ctx context.Context, s *stack.Session, want int) error {
	warmUp, err := s.WarmUp(ctx, stack.Run{Requests: warmUps})
	if err != nil {
		return err
	}
	if warmUp.Failed > 0 {
		return fmt.Errorf("client says that %d of %d warm-up requests failed: %s", warmUp.Failed, warmUps,
			warmUp.FirstFailure)
	}
	if warmUp.Server != warmUps {
		return fmt.Errorf("server counted %d warm-up requests, want %d", warmUp.Server, warmUps)
	}
	client, server := clientRecords{}, serverRecords{}
	_, err = s.Measure(ctx, stack.Run{Requests: want}, &client, &server)
	switch {
	case err != nil:
		return err
	case client.n != want:
		return fmt.Errorf("client counted %d requests, want %d", client.n, want)
	case server.n != want:
		return fmt.Errorf("server counted %d requests, want %d", server.n, want)
	case client.out != server.in || client.in != server.out:
		return unequalBytes{client.sums, server.sums}
	}
	return nil
}

// unequalBytes says that the sides counted the same requests, but not the same bytes.
type unequalBytes struct{ client, server sums }

func (e unequalBytes) Error() string {
	return fmt.Sprintf("client sent %d B and received %d B, server received %d B and sent %d B",
		e.client.out, e.client.in, e.server.in, e.server.out)
}

// exchanges are want of a session, where a stack that deviates from stack.CountsBytes may
// have counted none: both of its figures are 0. Wrong ones are not forgiven.
func (c suite) exchanges(want int) func(context.Context, *stack.Session) error {
	return func(ctx context.Context, s *stack.Session) error {
		err := counted(ctx, s, want)
		var e unequalBytes
		if _, deviates := c.d.Deviates[stack.CountsBytes]; !deviates || !errors.As(err, &e) {
			return err
		}
		for _, side := range []sums{e.client, e.server} {
			if side.out == 0 && side.in == 0 {
				return nil
			}
		}
		return err
	}
}

// sums count records, and the bytes of their messages.
type sums struct {
	n       int
	out, in int64
}

func (s *sums) add(x measure.Exchange) {
	s.n++
	s.out += x.Out
	s.in += x.In
}

func (*sums) End(stack.End) error { return nil }

// clientRecords is a stack.Sink that accepts only sound records of requests that
// succeeded one after the other.
type clientRecords struct {
	sums
	last time.Duration
}

func (r *clientRecords) Record(x measure.Exchange) error {
	r.add(x)
	last := r.last
	r.last = x.Done
	switch {
	case x.Failure != "":
		return fmt.Errorf("request %d: %s", x.Seq, x.Failure)
	case x.Seq != uint64(r.n):
		return fmt.Errorf("record %d has seq %d", r.n, x.Seq)
	case x.Due < last:
		return fmt.Errorf("request %d: due %v, before the previous one was done, %v, in a run back to back", x.Seq,
			x.Due, last)
	case x.Sent < last || x.Sent < x.Due || x.Done <= x.Sent:
		return fmt.Errorf("request %d: due %v, sent %v, done %v, but the previous one was done %v", x.Seq, x.Due,
			x.Sent, x.Done, last)
	case x.Serialization < 0 || x.Deserialization < 0 ||
		x.Serialization+x.Connection+x.RTT()+x.Deserialization > x.Total+time.Microsecond:
		return fmt.Errorf("request %d: serialization %v + connection %v + rtt %v + deserialization %v exceed the total %v",
			x.Seq, x.Serialization, x.Connection, x.RTT(), x.Deserialization, x.Total)
	}
	return nil
}

// serverRecords is a stack.Sink that accepts only sound records of a server.
type serverRecords struct {
	sums
	last uint64
}

func (r *serverRecords) Record(x measure.Exchange) error {
	r.add(x)
	if x.Seq <= r.last {
		return fmt.Errorf("server's record %d has seq %d after %d", r.n, x.Seq, r.last)
	}
	r.last = x.Seq
	if x.Serialization < 0 || x.Processing < 0 || x.Deserialization < 0 ||
		x.Serialization+x.Processing+x.Deserialization > x.Total+time.Microsecond {
		return fmt.Errorf("server's record %d: phases %v + %v + %v exceed the total %v",
			x.Seq, x.Deserialization, x.Processing, x.Serialization, x.Total)
	}
	return nil
}

func orNot(err error) error {
	if err == nil {
		return errors.New("no error reported")
	}
	return err
}

// twoAtOnce has another server beside the one at url.
func (c suite) twoAtOnce(second *server, service, url string) error {
	err := second.use(c.serve(service), func(*stack.Conn, string) error {
		if url == second.url {
			return fmt.Errorf("both servers listen on %s", url)
		}
		return nil
	})
	if c.wish.Transport == "dpws" { // it would answer the searches for others
		return errors.Join(err, second.close())
	}
	return errors.Join(err, second.rest())
}

// tells: what a program cannot do it says as an error of its own. It ends then, so each question needs another program:
// new ones, and one that answered before and would end now.
func (c suite) tells(held *program, service string) error {
	verb := held.verb
	asked := []string{"service", "encoding"}
	if verb == "call" {
		asked = append(asked, "connection")
	}
	for _, what := range asked {
		line, ask := c.serve(service), c.call(service, "http://127.0.0.1:1/"+service, 1)
		switch what {
		case "service":
			line.Service, ask.Service = "no-such-service", "no-such-service"
		case "encoding":
			line.Encoding, ask.Encoding = "no-such-encoding", "no-such-encoding"
		case "connection":
			ask.Connection = "no-such-connection"
		}
		question := func(ctx context.Context, p *stack.Conn) (stack.Ready, error) {
			if verb == "serve" {
				return serve(ctx, p, line)
			}
			return call(ctx, p, ask)
		}
		var err error
		if what == "encoding" {
			_, err = held.ask(question)
		} else {
			err = c.withoutCare(c.d, verb, func(ctx context.Context, p *stack.Conn) error {
				_, err := question(ctx, p)
				return err
			})
		}
		var own *stack.ProgramError
		if !errors.As(err, &own) {
			return fmt.Errorf("an unknown %s got %w, want an \"error\" line", what, orNot(err))
		}
	}
	return nil
}

// connection is used as told.
func (c suite) connection(srv *stack.Conn, client *program, service, at, how string) error {
	var between *countingRelay
	if u, err := url.Parse(at); err == nil && slices.Contains(overTCP, c.wish.Transport) {
		if between, err = newCountingRelay(u.Host); err != nil {
			return err
		}
		defer between.close()
		u.Host = between.addr()
		at = u.String()
	}
	asked := c.call(service, at, messageN)
	asked.Connection = how
	if err := c.seated(client, asked, srv, c.exchanges(recorded)); err != nil || between == nil {
		return err
	}
	return connectedAsTold(how, between.count())
}

// connectedAsTold judges how many connections a client made for all requests of a session. None is forgiven: over one
// that is to be kept they follow each other at once, and a server may not end it meanwhile.
func connectedAsTold(how string, many int) error {
	want := 1
	if how == "per-request" {
		want = warmUps + recorded
	}
	switch many {
	case want:
		return nil
	case 0:
		return errors.New("none of its connections went to the host and port of the URL in its call line: where did its " +
			"requests go?")
	}
	return fmt.Errorf("%d requests took %d connections, want %d", warmUps+recorded, many, want)
}
