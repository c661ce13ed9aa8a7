package conform

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"time"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/service"
	"edgegauge.example/edgegauge/internal/service/codec"
	"edgegauge.example/edgegauge/internal/stack"
)

// requestPause is how long a request waits on its way.
const requestPause = 200 * time.Millisecond

// beginsWhole checks that a server's times begin when the complete request is in memory: it waits for the
// request, and then for its second half. What a busy machine makes slow once is asked again.
func (c suite) beginsWhole(srv *stack.Conn, s, at string) error {
	var err error
	for range 3 {
		var served exchangesOf
		if err := c.asksSlowly(s, at, 3); err != nil {
			return err
		}
		if served, err = c.recordsOf(srv); err != nil {
			return err
		}
		if err = judgePauses(served); err == nil {
			return nil
		}
	}
	return err
}

// recordsOf fetches the server's records.
func (c suite) recordsOf(srv *stack.Conn) (served exchangesOf, err error) {
	ctx, cancel := context.WithTimeout(c.ctx, patience)
	defer cancel()
	_, err = srv.Report(ctx, false, func(x measure.Exchange) { served = append(served, x) })
	return served, err
}

func judgePauses(served exchangesOf) error {
	if len(served) < 2 {
		return fmt.Errorf("the server reports %d requests", len(served))
	}
	quickest := slices.MinFunc(served[1:], // a clock that runs since the request before shows in the second only
		func(a, b measure.Exchange) int { return int(a.Total - b.Total) })
	if quickest.Total >= requestPause/2 { // its clock may begin some time after the first byte
		return fmt.Errorf("total %v or more, of requests that waited for %v between two of their bytes: it must begin when "+
			"the whole request is there", quickest.Total, requestPause)
	}
	return nil
}

// asksSlowly sends requests of which each waits before its first byte and in the middle of its body.
func (c suite) asksSlowly(s, at string, requests int) error {
	u, err := url.Parse(at)
	if err != nil {
		return err
	}
	enc, name := codec.Encoding(c.wish.Encoding), service.Name(s)
	var m service.Message
	service.Make(name, messageSeed, 64, service.Width{}, &m)
	right, err := service.NewChecker(name, &m)
	if err != nil {
		return err
	}
	body := codec.Append(enc, nil, name, false, &m)
	action := enc.SOAPAction(name)
	if action != "" {
		action = "SOAPAction: " + action + "\r\n"
	}
	var conn net.Conn
	defer func() {
		if conn != nil {
			conn.Close()
		}
	}()
	for range requests {
		if conn == nil {
			if conn, err = net.DialTimeout("tcp", u.Host, 10*time.Second); err != nil {
				return err
			}
		}
		conn.SetDeadline(time.Now().Add(20 * time.Second))
		time.Sleep(requestPause)
		fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: %s\r\n%sContent-Length: %d\r\n\r\n%s",
			u.RequestURI(), u.Host, enc.MediaType(name, false), action, len(body), body[:len(body)/2])
		time.Sleep(requestPause)
		if _, err := conn.Write(body[len(body)/2:]); err != nil {
			return err
		}
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			return fmt.Errorf("a request whose body came in two parts: %w", err)
		}
		r := httpReply(enc, name, resp)
		resp.Body.Close()
		if err := r.right(enc, name, right); err != nil {
			return fmt.Errorf("a request whose body came in two parts was answered with %s: %w", r.status, err)
		}
		if resp.Close {
			conn.Close()
			conn = nil
		}
	}
	return nil
}

// connectionsAtOnce are how many of a server's are open at a time.
const connectionsAtOnce = 3

// answersSeveral checks that a server answers several connections that are all open, and each its own message:
// first in turn, then at once.
func (c suite) answersSeveral(s, at string) error {
	enc, name := codec.Encoding(c.wish.Encoding), service.Name(s)
	ctx, cancel := context.WithTimeout(c.ctx, time.Minute)
	defer cancel()
	one := func(i int, transport *http.Transport) (func() error, error) {
		ask, err := c.askHTTP(transport)
		if err != nil {
			return nil, err
		}
		var m service.Message
		service.Make(name, messageSeed+uint64(i), 64, service.Width{}, &m)
		right, err := service.NewChecker(name, &m)
		return func() error {
			r, err := ask(ctx, at, enc, name, badRequest{body: codec.Append(enc, nil, name, false, &m)})
			if err == nil {
				err = r.right(enc, name, right)
			}
			if err != nil {
				return fmt.Errorf("with %d connections open, one was answered %s: %w", connectionsAtOnce, r.status, err)
			}
			return nil
		}, err
	}
	var all []func() error
	for i := range connectionsAtOnce {
		transport := &http.Transport{}
		defer transport.CloseIdleConnections() // a server may have few threads, and each may be one connection's
		ask, err := one(i, transport)
		if err == nil {
			err = ask()
		}
		if err != nil {
			return err
		}
		all = append(all, ask)
	}
	faults := make(chan error, len(all))
	for _, ask := range all {
		go func() {
			var err error
			for i := 0; i < recorded && err == nil; i++ {
				err = ask()
			}
			faults <- err
		}()
	}
	var errs []error
	for range all {
		errs = append(errs, <-faults)
	}
	return errors.Join(errs...)
}

// remembers finds a server that decodes no message that it had before: each is sent twice, and the second
// time takes a fraction of the first.
func (c suite) remembers(srv *stack.Conn, s, at string) error {
	ask, err := c.asker()
	if err != nil {
		return err
	}
	for range 3 {
		if err = c.repeats(ask, srv, s, at); !errors.Is(err, errRemembered) {
			return err
		}
	}
	return err
}

// errRemembered: a second message costs much less than the first like it.
var errRemembered = errors.New("it seems to keep what it decoded")

func (c suite) repeats(ask asker, srv *stack.Conn, s, at string) error {
	const messages = 15
	enc, name := codec.Encoding(c.wish.Encoding), service.Name(s)
	ctx, cancel := context.WithTimeout(c.ctx, time.Minute)
	defer cancel()
	seed := uint64(time.Now().UnixNano()) // a message that was never here
	for range messages {
		var m service.Message
		seed++
		service.Make(name, seed, 1023, service.Width{}, &m)
		body := codec.Append(enc, nil, name, false, &m)
		for range 2 {
			if r, err := ask(ctx, at, enc, name, badRequest{body: body}); err != nil || !r.answered {
				return fmt.Errorf("a message of 1023 elements was answered with %s: %w", r.status,
					cmp.Or(err, errors.New("which is not an answer")))
			}
		}
	}
	served, err := c.recordsOf(srv)
	if err != nil {
		return err
	}
	return judgeRepeats(served)
}

// judgeRepeats judges records in pairs, of which the second is of the same message as the first.
func judgeRepeats(served exchangesOf) error {
	var first, second []time.Duration
	for i, x := range served {
		if i%2 == 0 {
			first = append(first, x.Deserialization)
		} else {
			second = append(second, x.Deserialization)
		}
	}
	if len(second) == 0 || len(first) != len(second) {
		return fmt.Errorf("the server reports %d requests", len(served))
	}
	slices.Sort(first)
	slices.Sort(second)
	before, after := first[len(first)/2], second[len(second)/2]
	if before-after > time.Microsecond && before > 4*after {
		return fmt.Errorf("%w: a message takes %v to decode, and %v when it is sent again", errRemembered, before, after)
	}
	return nil
}
