package reference

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"edgegauge.example/edgegauge/internal/drive"
	"edgegauge.example/edgegauge/internal/service/codec"
	"edgegauge.example/edgegauge/internal/stack"
)

// An httpServer is REST or SOAP on net/http.
type httpServer struct {
	*workers
	http interface {
		Shutdown(context.Context) error
		Close() error
	}
	at    string
	limit int64
	soap  bool
	// before, if set, may answer in the handler's place and then returns true.
	before func(http.ResponseWriter) bool
}

// serveHTTP listens for REST or SOAP, with TLS 1.3 where security asks for it.
func serveHTTP(p *program, s stack.Serve) (server, error) {
	w, err := p.workers(s)
	if err != nil {
		return nil, err
	}
	l, err := p.listen(s)
	if err != nil {
		return nil, err
	}
	h := &httpServer{workers: w, limit: s.Limits.Body, soap: w.encoding.SOAP()}
	scheme := "http"
	if s.Security == "tls" {
		scheme = "https"
		alpn := "http/1.1"
		if p.kind.transport != "http" {
			alpn = "h2"
		}
		config, err := tlsConfig(s, alpn)
		if err != nil {
			l.Close()
			return nil, err
		}
		l = tls.NewListener(l, config)
	}
	path, handle := "/"+s.Service, h.handle
	if p.kind.transport == "grpc" {
		path, handle = grpcService+s.Service, h.grpc
	}
	h.at = scheme + "://" + l.Addr().String() + path
	mux := http.NewServeMux()
	mux.HandleFunc(path, handle)
	serve := &http.Server{Handler: mux, ErrorLog: p.log, ReadHeaderTimeout: patience}
	h.http = serve
	if p.kind.transport == "http2" || p.kind.transport == "grpc" {
		serve.Protocols = new(http.Protocols)
		serve.Protocols.SetHTTP2(true)
		serve.Protocols.SetUnencryptedHTTP2(true)
		serve.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: mostStreams}
	}
	go serve.Serve(l)
	return h, nil
}

// mostStreams is how many requests on one connection the server takes at once: as many as a study may have in flight.
// Beyond it they wait at the client, and more in flight are the same load.
const mostStreams = drive.MostConnections

// patience is how long a client may take to shake hands or to send a header. At 9600 bit/s, with
// losses, a handshake of TLS or QUIC takes more than ten seconds.
const patience = 2 * time.Minute

// tlsConfig is the server's, TLS 1.3 with the study's certificate, and with the one
// key exchange that all stacks have (doc/method.md): Go's default is a post-quantum
// hybrid, 2.3 kB more for each connection, which no other stack has.
func tlsConfig(s stack.Serve, alpn ...string) (*tls.Config, error) {
	cert, err := tls.LoadX509KeyPair(s.Credentials["cert"], s.Credentials["key"])
	if err != nil {
		return nil, fmt.Errorf("credentials: %w", err)
	}
	return &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS13, NextProtos: alpn,
		CurvePreferences: []tls.CurveID{tls.X25519}}, nil
}

func (h *httpServer) url() string    { return h.at }
func (h *httpServer) take() *records { return h.settled() }

func (h *httpServer) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	if h.http.Shutdown(ctx) != nil {
		h.http.Close()
	}
	h.sensor.close()
}

func (h *httpServer) handle(w http.ResponseWriter, r *http.Request) {
	h.underway.Add(1)
	defer h.underway.Add(-1)
	x := h.pool.Get().(*worker)
	defer h.pool.Put(x)
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", "POST")
		h.refuse(w, http.StatusMethodNotAllowed, errors.New("only POST is supported"))
		return
	}
	if !h.encoding.Takes(r.Header.Get("Content-Type")) {
		h.refuse(w, http.StatusUnsupportedMediaType, fmt.Errorf("send %s", h.encoding.MediaType(h.name, false)))
		return
	}
	var err error
	if x.body, err = readAll(x.body[:0], r, h.limit); err != nil {
		status := http.StatusBadRequest
		if errors.Is(err, errTooLarge) {
			status = http.StatusRequestEntityTooLarge
			if r.ProtoMajor < 3 {
				w.Header().Set("Connection", "close")
			}
		}
		h.refuse(w, status, err)
		return
	}
	if h.before != nil && h.before(w) {
		return
	}
	if err := h.work(x); err != nil {
		h.refuse(w, statusOf(err), err)
		return
	}
	head := w.Header()
	head.Set("Content-Type", h.encoding.MediaType(h.name, true))
	head.Set("Content-Length", strconv.Itoa(len(x.answer)))
	w.Write(x.answer)
	h.keep(x)
}

func statusOf(err error) int {
	switch {
	case errors.Is(err, errService):
		return http.StatusInternalServerError
	case errors.Is(err, codec.ErrTooLarge):
		return http.StatusRequestEntityTooLarge
	}
	return http.StatusBadRequest
}

var errTooLarge = errors.New("the body is larger than the limit")

// readAll reads the body whole: deserialization must not wait for the network.
func readAll(b []byte, r *http.Request, limit int64) ([]byte, error) {
	if limit > 0 && r.ContentLength > limit {
		return b, errTooLarge
	}
	if n := int(r.ContentLength); n > cap(b) {
		b = make([]byte, 0, n+1)
	}
	for {
		if len(b) == cap(b) {
			b = append(b, 0)[:len(b)]
		}
		n, err := r.Body.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		switch {
		case limit > 0 && int64(len(b)) > limit:
			return b, errTooLarge
		case err == io.EOF:
			return b, nil
		case err != nil:
			return b, err
		}
	}
}

// refuse answers an error in the protocol's own words.
func (h *httpServer) refuse(w http.ResponseWriter, status int, err error) {
	if !h.soap {
		http.Error(w, err.Error(), status)
		return
	}
	fault := faultOf(err)
	w.Header().Set("Content-Type", h.encoding.MediaType(h.name, true))
	// SOAP 1.1, section 6.2: every fault is a 500. SOAP 1.2 part 2, table 20: a Sender fault alone is a 400.
	if status == http.StatusBadRequest {
		status = fault.Status(h.encoding)
	}
	w.WriteHeader(status)
	w.Write(codec.AppendFault(h.encoding, nil, fault))
}

// faultOf is an error as a SOAP fault: the sender's, unless the service failed.
func faultOf(err error) *codec.Fault {
	if f := (*codec.Fault)(nil); errors.As(err, &f) {
		return f
	}
	if errors.Is(err, errService) {
		return &codec.Fault{Code: codec.Receiver, Reason: err.Error()}
	}
	return &codec.Fault{Code: codec.Sender, Reason: err.Error()}
}
