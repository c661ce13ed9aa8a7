package drive

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"edgegauge.example/edgegauge/internal/protocol/coap"
)

// How requests use connections.
const (
	KeepAlive  = "keep-alive"  // many requests a connection
	PerRequest = "per-request" // one; RTT then begins before the connection is made
	Pipelined  = "pipelined"   // one for all, with Concurrency requests in flight (HTTP/1.1)
	// Multiplexed is the same with a stream for each request, answered in any
	// order (HTTP/2, gRPC, HTTP/3).
	Multiplexed = "multiplexed"
)

// A Spec says what to drive. The zero value of a field means its default.
type Spec struct {
	// URL is http, https, coap, coaps, coap+tcp, mqtt, mqtts, tcp or udp (the bare exchanges), with a
	// host name, an IPv4 or an [IPv6] address.
	URL    string `json:"url"`
	Family string `json:"family,omitempty"` // "4" or "6"; empty: as the host resolves
	// http, https: HTTP1, HTTP2 or GRPC, https also HTTP3; HTTP1. mqtt, mqtts: MQTT5 or MQTT311; MQTT5
	Protocol    string        `json:"protocol,omitempty"`
	Method      string        `json:"method,omitempty"`       // POST
	ContentType string        `json:"content_type,omitempty"` // of the requests; CoAP: also a content-format number
	Accept      string        `json:"accept,omitempty"`
	Header      []string      `json:"header,omitempty"`      // HTTP, "Name: value"
	Answer      int           `json:"answer,omitempty"`      // bare exchange: B of each response, as the server has it
	Connection  string        `json:"connection,omitempty"`  // KeepAlive
	Concurrency int           `json:"concurrency,omitempty"` // connections; 1
	Timeout     time.Duration `json:"timeout,omitempty"`     // of a request, from Sent; 5 s
	QoS         byte          `json:"qos,omitempty"`         // MQTT: 0, 1 or 2, of requests and answers
	// MQTT: where requests go and answers come from; {id} is the client's own name.
	// Empty: below the URL's path, as at mqttConn.
	Topic         string `json:"topic,omitempty"`
	ResponseTopic string `json:"response_topic,omitempty"`
	NON           bool   `json:"non,omitempty"` // CoAP: non-confirmable requests; one that is lost fails
	// TCP: wait with small segments (RFC 896), as without TCP_NODELAY
	Nagle       bool        `json:"nagle,omitempty"`
	Credentials Credentials `json:"credentials,omitzero"`
	Memory      int64       `json:"memory,omitempty"` // B of heap above which garbage is collected after all; 512 MiB
	// MostBody bounds the body of a response, in B; 64 MiB. A longer one fails
	// its request, and no more of it is read.
	MostBody int `json:"most_body,omitempty"`
	// Limit is what the user calls MostBody, such as --max-body; empty: nobody named it.
	Limit string `json:"limit,omitempty"`
	// Largest is how large the body of a request will be at most, in B; 0: nobody knows. CoAP over TCP sends large ones
	// as the server says that it takes them.
	Largest int `json:"largest,omitempty"`
}

// Credentials are what TLS 1.3 (https) and DTLS 1.2 (coaps) need.
type Credentials struct {
	CA         string `json:"ca,omitempty"`          // path of a PEM file; empty: the system's authorities
	PEM        []byte `json:"pem,omitempty"`         // or: what is in it
	ServerName string `json:"server_name,omitempty"` // empty: the URL's host
	Insecure   bool   `json:"insecure,omitempty"`    // takes any server for right
	Identity   string `json:"identity,omitempty"`    // DTLS, pre-shared key
	Key        []byte `json:"key,omitempty"`         // DTLS, pre-shared key of Identity
	// CID has DTLS ask the server for a connection ID (RFC 9146).
	CID bool `json:"cid,omitempty"`
	// OSCORE, for coap: the client's view without an ID context; every connection makes its own.
	OSCORE coap.Keys `json:"oscore,omitzero"`
}

const (
	defaultTimeout = 5 * time.Second
	defaultMemory  = 512 << 20
	defaultBody    = 64 << 20
)

var defaultPorts = map[string]uint16{"http": 80, "https": 443, "coap": 5683, "coaps": 5684, "coap+tcp": 5683,
	"mqtt": 1883, "mqtts": 8883}

// target is a Spec that was found right.
type target struct {
	Spec
	scheme, host string // host as in a Host header
	name         string // host alone, with its zone
	path         string // request target
	query        string // CoAP
	addr         netip.AddrPort
	overTCP      bool
	settings     coap.Settings // of the server; CoAP over TCP
}

// idempotent says whether a request may reach the server twice and do no more
// than once (RFC 9110, section 9.2.2; RFC 7252, section 5.1).
func (t *target) idempotent() bool {
	return t.Protocol != GRPC && slices.Contains([]string{"GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"}, t.Method)
}

// secure says whether TLS or DTLS is between.
func (t *target) secure() bool {
	return t.scheme == "https" || t.scheme == "coaps" || t.scheme == "mqtts"
}

// connected says whether requests go over connections, which the other side may end: TCP, DTLS, QUIC.
func (t *target) connected() bool { return t.scheme != "coap" && t.scheme != "udp" }

// Check refuses what cannot be driven. It resolves nothing and connects to nothing.
func (s Spec) Check() error {
	t, _, err := s.target()
	if err == nil && strings.HasPrefix(t.scheme, "coap") {
		_, err = newCoAPConn(t, 0)
	}
	return err
}

// Address is where the URL's server listens, as host:port, and whether over TCP.
// Nothing else of the Spec is checked, such as credentials.
func (s Spec) Address() (address string, tcp bool, err error) {
	t, u, err := s.parse()
	if err != nil {
		return "", false, err
	}
	port, err := t.port(u.Port())
	if err == nil && t.name == "" {
		err = errNoHost
	}
	if err != nil {
		return "", false, fmt.Errorf("%s: %w", s.URL, err)
	}
	return net.JoinHostPort(t.name, strconv.Itoa(int(port))), t.overTCP, nil
}

// Resolve is the address to which requests would go: that of the URL's host in the wanted version of IP, the first at
// which somebody listens.
func (s Spec) Resolve(ctx context.Context) (netip.AddrPort, error) {
	t, err := s.check(ctx)
	if err != nil {
		return netip.AddrPort{}, err
	}
	return t.addr, nil
}

// check is target with its host resolved.
func (s Spec) check(ctx context.Context) (*target, error) {
	t, port, err := s.target()
	if err != nil {
		return nil, err
	}
	if t.addr, err = resolve(ctx, t.name, port, t.Family, t.overTCP); err != nil {
		return nil, fmt.Errorf("%s: %w", s.URL, err)
	}
	return t, nil
}

// target refuses what cannot be driven.
func (s Spec) target() (*target, uint16, error) {
	t, u, err := s.parse()
	if err != nil {
		return nil, 0, err
	}
	if err := t.refuse(); err != nil {
		return nil, 0, fmt.Errorf("%s: %w", s.URL, err)
	}
	port, err := t.port(u.Port())
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w", s.URL, err)
	}
	return t, port, nil
}

// parse reads the URL and fills in the defaults.
func (s Spec) parse() (*target, *url.URL, error) {
	u, err := url.Parse(s.URL)
	if err != nil {
		var bad *url.Error
		if errors.As(err, &bad) {
			err = bad.Err
		}
		return nil, nil, fmt.Errorf("%q is not a URL: %w; write, for example, http://host:8080/path", s.URL, err)
	}
	if s.Protocol == "" && (u.Scheme == "mqtt" || u.Scheme == "mqtts") {
		s.Protocol = MQTT5
	} else if s.Protocol == "" {
		s.Protocol = HTTP1
	}
	if s.Method == "" {
		s.Method = "POST"
	}
	if s.Protocol == GRPC && s.ContentType == "" && !names(s.Header, "content-type") {
		s.ContentType = "application/grpc" // without one, a server answers 415
	}
	if s.Connection == "" {
		s.Connection = KeepAlive
	}
	if s.Concurrency == 0 {
		s.Concurrency = 1
	}
	if s.Timeout == 0 {
		s.Timeout = defaultTimeout
	}
	if s.Memory == 0 {
		s.Memory = defaultMemory
	}
	if s.MostBody == 0 {
		s.MostBody = defaultBody
	}
	t := &target{Spec: s, scheme: u.Scheme, host: zoneless(u.Host), name: u.Hostname(), path: u.EscapedPath(),
		query: u.RawQuery}
	t.overTCP = t.scheme != "coap" && t.scheme != "coaps" && t.scheme != "udp" && t.Protocol != HTTP3
	return t, u, nil
}

// zoneless is a host without the zone of an IPv6 address, which means something on this machine alone (RFC 6874,
// section 1), and which servers do not take.
func zoneless(host string) string {
	before, rest, ok := strings.Cut(host, "%")
	if !ok {
		return host
	}
	_, after, ok := strings.Cut(rest, "]")
	if !ok {
		return before
	}
	return before + "]" + after
}

func (t *target) port(text string) (uint16, error) {
	if text == "" {
		if port, ok := defaultPorts[t.scheme]; ok {
			return port, nil
		}
		return 0, fmt.Errorf("no port; write %s://host:port", t.scheme)
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil || port == 0 {
		return 0, fmt.Errorf("invalid port %s; write 1 to 65535", text)
	}
	return uint16(port), nil
}

func (t *target) refuse() error {
	switch t.scheme {
	case "http", "https":
		if strings.Contains(t.query, " ") { // it would end the request target
			return errors.New("the query has a space; write %20 for it")
		}
		t.path = httpTarget(t.path, t.query)
		if t.Protocol == HTTP3 && t.scheme == "http" {
			return errors.New("HTTP/3 is always encrypted; write https")
		}
		if !slices.Contains([]string{HTTP1, HTTP2, GRPC, HTTP3}, t.Protocol) {
			return fmt.Errorf("unknown protocol %q; write %s, %s, %s or %s", t.Protocol, HTTP1, HTTP2, GRPC, HTTP3)
		}
		if t.Protocol == GRPC && t.Method != "POST" {
			return fmt.Errorf("a gRPC call is a POST, not a %s; leave the method out", t.Method)
		}
		if err := checkHead(t.Spec); err != nil {
			return err
		}
	case "coap", "coaps":
	case "coap+tcp":
		if len(t.Credentials.OSCORE.Secret) > 0 {
			return errors.New("OSCORE is supported only over UDP; write coap or coaps")
		}
	case "mqtt", "mqtts":
		switch {
		case t.Protocol != MQTT5 && t.Protocol != MQTT311:
			return fmt.Errorf("unknown protocol %q; write %s or %s", t.Protocol, MQTT5, MQTT311)
		case t.QoS > 2:
			return fmt.Errorf("invalid QoS %d; write 0, 1 or 2", t.QoS)
		case (t.Topic == "") != (t.ResponseTopic == ""):
			return errors.New("one of topic and response topic; name both")
		case t.Topic != "":
		case strings.Trim(t.path, "/") == "" || strings.ContainsAny(t.path, "+#%"):
			return fmt.Errorf("path %q cannot start a topic; write mqtt://host/name", t.path)
		}
	case "tcp", "udp":
		if t.Answer < 1 || t.Answer > MostBody {
			return fmt.Errorf("a bare exchange with an answer of %d bytes; state how many the server sends, at least 1",
				t.Answer)
		}
		if t.scheme == "udp" && t.Answer > mostDatagram {
			return fmt.Errorf("an answer of %d bytes does not fit a datagram of at most %d; use tcp", t.Answer, mostDatagram)
		}
	default:
		if strings.HasPrefix(t.scheme, "grpc") {
			return errors.New("gRPC has no scheme of its own; write http:// with --protocol grpc (in a study: transport: grpc)")
		}
		return fmt.Errorf("scheme %q is unsupported; supported: http, https, coap, coaps, coap+tcp, mqtt, mqtts, tcp, udp",
			t.scheme)
	}
	switch {
	case t.name == "":
		return errNoHost
	case t.Family != "" && t.Family != "4" && t.Family != "6":
		return fmt.Errorf("unknown IP version %q; write 4 or 6", t.Family)
	case t.Connection == Pipelined && (t.scheme != "http" || t.Protocol != HTTP1):
		return errors.New("pipelining is supported only for HTTP/1.1 without TLS")
	case t.Connection == Multiplexed && !(t.Protocol == HTTP3 || t.scheme == "http" &&
		(t.Protocol == HTTP2 || t.Protocol == GRPC)):
		return errors.New("multiplexing is supported only for HTTP/2 and gRPC without TLS, and for HTTP/3")
	case !slices.Contains([]string{KeepAlive, PerRequest, Pipelined, Multiplexed}, t.Connection):
		return fmt.Errorf("unknown connection %q; write %s, %s, %s or %s", t.Connection, KeepAlive, PerRequest,
			Pipelined, Multiplexed)
	case t.Concurrency < 1 || t.Concurrency > MostConnections:
		return fmt.Errorf("invalid concurrency %d; write 1 to %d", t.Concurrency, MostConnections)
	case t.MostBody < 1 || t.MostBody > MostBody:
		return fmt.Errorf("invalid limit of %d bytes for responses; write 1 to 1 GiB", t.MostBody)
	case t.Timeout < time.Millisecond:
		return fmt.Errorf("invalid timeout %v; write at least 1ms", t.Timeout)
	case t.scheme == "coaps" && len(t.Credentials.Key) == 0:
		return errors.New("no pre-shared key; coaps needs an identity and a key")
	}
	return nil
}

func httpTarget(path, query string) string {
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	if query != "" {
		path += "?" + query
	}
	return path
}
