// A stack for edgegauge: the services echo and monitor, as JSON over HTTP/1.1.
// It speaks the adapter protocol (stacks/PROTOCOL.md): one JSON object per line on
// stdin and stdout. Replace the parts marked YOUR FRAMEWORK; keep the timing points.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

const (
	version  = "0.1" // YOUR FRAMEWORK: its version
	jsonType = "application/json"
)

var started = time.Now()

func now() int64 { return int64(time.Since(started)) } // ns, monotonic

// A message is a request or a response of either service. Decimals are in hundredths.
type message struct {
	text                  string // echo
	id, message           string // monitor
	status, sequence      int64
	temperature, pressure int64
	running, accepted     bool
}

// A field is one of a message: its name in JSON and where its value is.
type field struct {
	name  string
	value any // *string, *bool, *int64 for an int32, *hundredths
}

type hundredths int64

func (m *message) fields(service string, response bool) []field {
	switch {
	case service == "echo":
		return []field{{"text", &m.text}}
	case response:
		return []field{{"accepted", &m.accepted}, {"sequence", &m.sequence}}
	}
	return []field{{"id", &m.id}, {"status", &m.status}, {"sequence", &m.sequence},
		{"temperature", (*hundredths)(&m.temperature)}, {"pressure", (*hundredths)(&m.pressure)},
		{"running", &m.running}, {"message", &m.message}}
}

// answer is the service's own work.
func answer(service string, q *message) *message {
	if service == "echo" {
		return &message{text: q.text}
	}
	return &message{accepted: true, sequence: q.sequence}
}

// fromSeed generates the message for a seed (stacks/contract/README.md).
func fromSeed(service string, seed uint64, n int) *message {
	next := func() uint64 {
		seed += 0x9E3779B97F4A7C15
		z := (seed ^ seed>>30) * 0xBF58476D1CE4E5B9
		z = (z ^ z>>27) * 0x94D049BB133111EB
		return z ^ z>>31
	}
	letters := func(n int, of string) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = of[next()%uint64(len(of))]
		}
		return string(b)
	}
	const small = "abcdefghijklmnopqrstuvwxyz"
	mixed := strings.ToUpper(small) + small
	m := &message{}
	if service == "echo" {
		m.text = letters(n, mixed)
		return m
	}
	m.id = letters(8, small)
	m.status = int64(next() % 4)
	m.sequence = int64(next() >> 33)
	m.temperature = int64(next()%10000) - 2000
	m.pressure = 90000 + int64(next()%20000)
	m.running = next()%2 == 1
	m.message = letters(n, mixed)
	return m
}

// The encoding. YOUR FRAMEWORK: its own serializer, if it writes the canonical form.

func encode(fields []field) []byte {
	b := []byte{'{'}
	for i, f := range fields {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, '"'), f.name...), `":`...)
		switch v := f.value.(type) {
		case *string:
			b = appendString(b, *v)
		case *bool:
			b = strconv.AppendBool(b, *v)
		case *int64:
			b = strconv.AppendInt(b, *v, 10)
		case *hundredths:
			k := int64(*v)
			if k < 0 {
				b, k = append(b, '-'), -k
			}
			b = fmt.Appendf(b, "%d.%02d", k/100, k%100)
		}
	}
	return append(b, '}')
}

// appendString escapes only what must be escaped; encoding/json escapes more.
func appendString(b []byte, s string) []byte {
	short := map[byte]byte{'"': '"', '\\': '\\', '\b': 'b', '\t': 't', '\n': 'n', '\f': 'f', '\r': 'r'}
	b = append(b, '"')
	for i := 0; i < len(s); i++ {
		switch e, ok := short[s[i]]; {
		case ok:
			b = append(b, '\\', e)
		case s[i] < ' ':
			b = fmt.Appendf(b, `\u%04x`, s[i])
		default:
			b = append(b, s[i])
		}
	}
	return append(b, '"')
}

func decode(body []byte, fields []field) error {
	if !utf8.Valid(body) {
		return errors.New("not UTF-8")
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(body, &object); err != nil {
		return fmt.Errorf("not JSON: %w", err)
	}
	for _, f := range fields {
		raw, ok := object[f.name]
		if !ok || !read(strings.TrimSpace(string(raw)), f.value) {
			return fmt.Errorf("no right %s", f.name)
		}
	}
	return nil
}

func read(raw string, to any) bool {
	switch v := to.(type) {
	case *string:
		return raw[0] == '"' && !strings.Contains(raw, `\u`) && json.Unmarshal([]byte(raw), v) == nil ||
			raw[0] == '"' && json.Unmarshal([]byte(raw), v) == nil && !strings.ContainsRune(*v, utf8.RuneError)
	case *bool:
		*v = raw == "true"
		return *v || raw == "false"
	case *int64:
		x, err := strconv.ParseFloat(raw, 64)
		*v = int64(x)
		return err == nil && x == math.Trunc(x) && x >= math.MinInt32 && x <= math.MaxInt32
	case *hundredths:
		x, err := strconv.ParseFloat(raw, 64)
		k, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'f', -1, 64)+"e2", 64) // 1.005*100 is less than 100.5
		*v = hundredths(math.Round(k))
		return err == nil && math.Abs(x) <= 1e13
	}
	return false
}

// The server. YOUR FRAMEWORK: its own server instead of net/http.

type record struct{ deserialization, processing, serialization, total, in, out int64 }

type server struct {
	service string
	limit   int64
	delay   time.Duration // slows the service, to test the lab
	sending sync.RWMutex  // held for reading while an answer is sent: the client may have it before it is recorded
	mu      sync.Mutex
	records []record
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	refuse := func(status int, why string) {
		w.Header().Set("Connection", "close")
		http.Error(w, why, status)
	}
	media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case r.URL.Path != "/"+s.service:
		refuse(http.StatusNotFound, "only /"+s.service+" is served")
		return
	case r.Method != http.MethodPost:
		refuse(http.StatusMethodNotAllowed, "only POST is served")
		return
	case media != jsonType:
		refuse(http.StatusUnsupportedMediaType, "send "+jsonType)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, s.limit))
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		refuse(http.StatusRequestEntityTooLarge, "the body is larger than the limit")
		return
	}
	if err != nil {
		refuse(http.StatusBadRequest, err.Error())
		return
	}
	begun := now() // the request is complete
	var request message
	if err := decode(body, request.fields(s.service, false)); err != nil {
		refuse(http.StatusBadRequest, err.Error())
		return
	}
	decoded := now()
	time.Sleep(s.delay)
	response := answer(s.service, &request)
	answered := now()
	out := encode(response.fields(s.service, true))
	encoded := now()
	w.Header().Set("Content-Type", jsonType)
	w.Header().Set("Content-Length", strconv.Itoa(len(out)))
	s.sending.RLock()
	defer s.sending.RUnlock()
	w.Write(out)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.records = append(s.records, record{decoded - begun, answered - decoded, encoded - answered, now() - begun,
		int64(len(body)), int64(len(out))})
}

func serve(l *line) error {
	delay, unknown := strconv.ParseUint(l.Options["delay"], 10, 63)
	if l.Options["delay"] != "" && unknown != nil { // a setting that is not understood is refused, not replaced
		return fmt.Errorf("unknown options.delay %q; write nanoseconds, such as 1000000", l.Options["delay"])
	}
	s := &server{service: l.Service, limit: l.Limits.Body, delay: time.Duration(delay)}
	listener, err := net.Listen("tcp", net.JoinHostPort(l.Host, strconv.Itoa(l.Port))) // this host only
	if err != nil {
		return err
	}
	go http.Serve(listener, s)
	ready(`,"url":` + string(appendString(nil, "http://"+listener.Addr().String()+"/"+l.Service)))
	for {
		ask, err := next("report")
		if ask == nil {
			return err
		}
		s.sending.Lock()
		taken := s.records
		s.records = nil
		s.sending.Unlock()
		for i, r := range taken {
			if !ask.Discard {
				fmt.Fprintf(stdout, `{"type":"exchange","seq":%d,"deserialization":%d,"processing":%d,"serialization":%d,`+
					`"total":%d,"in":%d,"out":%d}`+"\n", i+1, r.deserialization, r.processing, r.serialization, r.total, r.in, r.out)
			}
		}
		end(len(taken), "")
	}
}

// The client. YOUR FRAMEWORK: its own client instead of net/http.

type exchange struct {
	due, sent, done, connection, serialization, deserialization, total, out, in int64
	failure                                                                     string
}

type client struct {
	service           string
	url               string
	request, expected *message
	http              *http.Client
}

// once sends one request and fills x, or returns what went wrong.
func (c *client) once(x *exchange) error {
	begun := now()
	body := encode(c.request.fields(c.service, false))
	x.serialization, x.out = now()-begun, int64(len(body))
	req, err := http.NewRequest(http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", jsonType)
	opening := now()
	trace := httptrace.ClientTrace{GotConn: func(got httptrace.GotConnInfo) {
		x.sent = now()
		if !got.Reused {
			x.connection = x.sent - opening
		}
	}}
	resp, err := c.http.Do(req.WithContext(httptrace.WithClientTrace(req.Context(), &trace)))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	x.done, x.in = now(), int64(len(got))
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d: %.100s", resp.StatusCode, bytes.TrimSpace(got))
	}
	if media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); media != jsonType {
		return fmt.Errorf("the answer is %s", media)
	}
	decoding := now()
	var received message
	if err := decode(got, received.fields(c.service, true)); err != nil {
		return err
	}
	x.deserialization = now() - decoding
	x.total = now() - begun // to check the answer is no part of it
	if received != *c.expected {
		return errors.New("the answer is another than was asked for")
	}
	return nil
}

func call(l *line) error {
	if l.Connection != "keep-alive" && l.Connection != "per-request" {
		return fmt.Errorf("no connection %q; there are keep-alive, per-request", l.Connection)
	}
	if l.Message.Letters != 0 || l.Message.Max != 0 {
		return errors.New("letters and max are for concat and sum")
	}
	if u, err := url.Parse(l.URL); err != nil || u.Scheme != "http" {
		return fmt.Errorf("not an HTTP URL: %s", l.URL)
	}
	request := fromSeed(l.Service, l.Message.Seed, l.Message.N)
	c := &client{l.Service, l.URL, request, answer(l.Service, request), &http.Client{Timeout: time.Duration(l.Timeout),
		Transport: &http.Transport{DisableKeepAlives: l.Connection == "per-request", DisableCompression: true}}}
	ready("")
	for {
		r, err := next("run")
		if r == nil {
			return err
		}
		if err := c.run(r); err != nil {
			return err
		}
	}
}

func (c *client) run(r *line) error {
	pace := float64(r.Interval)
	if r.Rate > 0 {
		pace = 1e9 / r.Rate
	}
	switch {
	case r.Concurrency > 1:
		return errors.New("there is one connection; set concurrency to 1")
	case r.Arrival != "" && r.Arrival != "constant":
		return fmt.Errorf("no arrival %q; there is constant", r.Arrival)
	case r.Requests == 0 && r.Duration == 0:
		return errors.New("the run has no end; give requests or duration")
	}
	var all []exchange
	var failures []string
	count, start := 0, now()
	for r.Requests == 0 || count < r.Requests {
		x := exchange{due: now() - start}
		if pace > 0 {
			x.due = int64(float64(count) * pace)
		}
		if r.Duration > 0 && (x.due >= r.Duration || r.Rate == 0 && now()-start >= r.Duration) { // at a rate, all are sent
			break
		}
		time.Sleep(time.Duration(x.due - (now() - start)))
		count++
		begun := now()
		if err := c.once(&x); err != nil {
			x.failure = err.Error()
			failures = append(failures, x.failure)
		}
		if x.total == 0 {
			x.total = now() - begun // it failed before it was decoded
		}
		if r.Record {
			all = append(all, x) // printed after the last request: no output in between
		}
	}
	for i, x := range all {
		fmt.Fprintf(stdout, `{"type":"exchange","seq":%d,"due":%d,"sent":%d,"done":%d`, i+1, x.due,
			max(x.sent-start, 0), max(x.done-start, 0)) // 0: it came to nothing
		fmt.Fprintf(stdout, `,"connection":%d,"serialization":%d,"deserialization":%d,"total":%d,"out":%d,"in":%d`,
			x.connection, x.serialization, x.deserialization, x.total, x.out, x.in)
		if x.failure != "" {
			fmt.Fprintf(stdout, `,"failure":%s`, appendString(nil, x.failure))
		}
		stdout.WriteString("}\n")
		if i == 0 {
			stdout.Flush() // the lab reads the run's CPU time when its first record comes
		}
	}
	if !r.Record && len(failures) > 0 { // no record tells of them
		end(count, fmt.Sprintf(`,"failed":%d,"first_failure":%s`, len(failures), appendString(nil, failures[0])))
	} else {
		end(count, "")
	}
	return nil
}

// The adapter protocol.

// A line is any line that the lab sends.
type line struct {
	Type, Service, Encoding, Security, Transport, Host, URL, Connection, Arrival string
	Protocol, Port, Requests, Concurrency                                        int
	Limits                                                                       struct{ Body int64 }
	Options                                                                      map[string]string
	Message                                                                      struct {
		Seed, Max  uint64
		N, Letters int
	}
	Timeout, Duration, Interval int64
	Rate                        float64
	Record, Discard             bool
}

var (
	stdin  = bufio.NewReader(os.Stdin)
	stdout = bufio.NewWriterSize(os.Stdout, 1<<16)
)

// next reads a line of a type; nil without an error is the end.
func next(kind string) (*line, error) {
	text, err := stdin.ReadBytes('\n')
	if err != nil {
		return nil, nil
	}
	l := new(line)
	if err := json.Unmarshal(text, l); err != nil {
		return nil, err
	}
	if l.Type != kind {
		return nil, fmt.Errorf("no %q expected here, but %q", kind, l.Type)
	}
	return l, nil
}

func ready(more string) {
	fmt.Fprintf(stdout, `{"type":"ready","version":%q,"runtime":%q%s}`+"\n", version, runtime.Version(), more)
	stdout.Flush()
}

func end(count int, more string) {
	fmt.Fprintf(stdout, `{"type":"end","count":%d%s}`+"\n", count, more)
	stdout.Flush()
}

func begin(verb string) error {
	l, err := next(verb)
	if l == nil {
		return err
	}
	switch {
	case l.Protocol != 1:
		return fmt.Errorf("protocol %d is not spoken here; use 1", l.Protocol)
	case l.Service != "echo" && l.Service != "monitor":
		return fmt.Errorf("no service %q; there are echo, monitor", l.Service)
	case l.Encoding != "json":
		return fmt.Errorf("no encoding %q; there is json", l.Encoding)
	case l.Security != "none" || l.Transport != "http":
		return fmt.Errorf("no security %q over transport %q; there is none over http", l.Security, l.Transport)
	case verb == "serve":
		return serve(l)
	}
	return call(l)
}

func main() {
	if err := begin(os.Args[1]); err != nil {
		fmt.Fprintf(stdout, `{"type":"error","message":%s}`+"\n", appendString(nil, err.Error()))
		stdout.Flush()
		os.Exit(1)
	}
}
