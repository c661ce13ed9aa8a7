package conform

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"

	"edgegauge.example/edgegauge/internal/service"
	"edgegauge.example/edgegauge/internal/service/codec"
	"edgegauge.example/edgegauge/internal/stack"
)

// A boundFault is a SOAP fault and the status of HTTP that its version binds it to.
type boundFault struct {
	code   codec.FaultCode
	status int
}

// boundFaults are those that an encoding's client may get: SOAP 1.1, section 6.2, binds every fault to 500; SOAP 1.2,
// part 2, 7.5.2.2, a Sender's to 400.
func boundFaults(enc codec.Encoding) []boundFault {
	if enc.EnvelopeNamespace() == "http://schemas.xmlsoap.org/soap/envelope/" { // SOAP 1.1's
		return []boundFault{{codec.Sender, 500}, {codec.Receiver, 500}}
	}
	return []boundFault{{codec.Sender, 400}, {codec.Receiver, 500}}
}

// faultable tells whether the kit can answer a client with faults: it serves plain HTTP, and signs nothing.
func (c suite) faultable() bool {
	return codec.Encoding(c.wish.Encoding).SOAP() && c.wish.Transport == "http" && c.wish.Security == "none" &&
		!c.fixedSizes()
}

// A faulty server answers each request with a fault.
type faulty struct {
	http.Server
	enc  codec.Encoding
	name service.Name

	mu    sync.Mutex
	fault boundFault
	asked int // since the fault is the one
}

// next has it answer with another fault.
func (f *faulty) next(b boundFault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault, f.asked = b, 0
}

func (f *faulty) seen() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.asked
}

func (f *faulty) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	io.Copy(io.Discard, r.Body)
	f.mu.Lock()
	b := f.fault
	f.asked++
	f.mu.Unlock()
	enc := f.enc
	if _, err := codec.Parse(string(enc)); err != nil {
		enc = enc.Base() // a fault may be text
	}
	body := codec.AppendFault(enc, nil, &codec.Fault{Code: b.code, Reason: "the kit answers with faults"})
	w.Header().Set("Content-Type", enc.MediaType(f.name, true))
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(b.status)
	w.Write(body)
}

// failsOnFaults has the client ask a server that answers with each fault, and wants each such request recorded as a
// failure, and sent once: it was processed, as far as the client knows.
func (c suite) failsOnFaults(client *program, s string) error {
	const requests = 3
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	f := &faulty{enc: codec.Encoding(c.wish.Encoding), name: service.Name(s)}
	f.Handler = f
	var served sync.WaitGroup
	served.Go(func() { f.Serve(l) }) // until it is closed
	defer served.Wait()
	defer f.Close()
	asked := c.call(s, "http://"+l.Addr().String()+"/"+s, messageN)
	return c.seated(client, asked, nil, func(ctx context.Context, alone *stack.Session) error {
		for _, b := range boundFaults(f.enc) {
			f.next(b)
			var told exchangesOf
			_, err := alone.Measure(ctx, stack.Run{Requests: requests}, &told, nil)
			if err == nil {
				err = judgeFaults(told, requests, f.seen())
			}
			if err != nil {
				return fmt.Errorf("the fault %s with HTTP status %d: %w", b.code, b.status, err)
			}
		}
		return nil
	})
}

// judgeFaults judges what a client recorded of requests that were answered with faults, and how often they were sent.
func judgeFaults(told exchangesOf, requests, seen int) error {
	for _, x := range told {
		if x.Failure == "" {
			return errors.New("a request that it answers is recorded as a success")
		}
	}
	if len(told) != requests || seen != requests {
		return fmt.Errorf("%d requests that it answers have %d records, and were sent %d times", requests, len(told), seen)
	}
	return nil
}
