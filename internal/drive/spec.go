package drive

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"edgegauge/stacks/reference/coap"
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
	URL         string        `json:"url"`
	Family      string        `json:"family,omitempty"`       // "4" or "6"; empty: as the host resolves
	Protocol    string        `json:"protocol,omitempty"`     // http, https: HTTP1, HTTP2 or GRPC, https also HTTP3; HTTP1. mqtt, mqtts: MQTT5 or MQTT311; MQTT5
	Method      string        `json:"method,omitempty"`       // POST
	ContentType string        `json:"content_type,omitempty"` // of the requests; CoAP: also a content-format number
	Accept      string        `json:"accept,omitempty"`
	Header      []string      `json:"header,omitempty"`      // HTTP, "Name: value"
	Answer      int           `json:"answer,omitempty"`      // bare exchange: B of each response, as the server has it
	Connection  string        `json:"connection,omitempty"`  // KeepAlive
	Concurrency int           `json:"concurrency,omitempty"` // connections; 1
	Timeout     time.Duration `json:"timeout,omitempty"`     // of a request, from Sent; 5 s
	QoS         byte          `json:"qos,omitempty"`         // MQTT: 0, 1 or 2, of requests and answers
	NON         bool          `json:"non,omitempty"`         // CoAP: non-confirmable requests; one that is lost fails
	Nagle       bool          `json:"nagle,omitempty"`       // TCP: wait with small segments (RFC 896), as without TCP_NODELAY
	Credentials Credentials   `json:"credentials,omitzero"`
	Memory      int64         `json:"memory,omitempty"` // B of heap above which garbage is collected after all; 512 MiB
}

// Credentials are what TLS 1.3 (https) and DTLS 1.2 (coaps) need.
type Credentials struct {
	CA         string `json:"ca,omitempty"`          // path of a PEM file; empty: the system's authorities
	ServerName string `json:"server_name,omitempty"` // empty: the URL's host
	Insecure   bool   `json:"insecure,omitempty"`    // takes any server for right
	Identity   string `json:"identity,omitempty"`    // DTLS, pre-shared key
	Key        []byte `json:"key,omitempty"`
	// OSCORE, for coap: the client's view without an ID context; every connection makes its own.
	OSCORE coap.Keys `json:"oscore,omitzero"`
}

const (
	defaultTimeout = 5 * time.Second
	defaultMemory  = 512 << 20
)

var defaultPorts = map[string]uint16{"http": 80, "https": 443, "coap": 5683, "coaps": 5684, "coap+tcp": 5683, "mqtt": 1883, "mqtts": 8883}

// target is a Spec that was found right.
type target struct {
	Spec
	scheme, host string // host as in a Host header
	name         string // host alone
	path         string // request target
	query        string // CoAP
	addr         netip.AddrPort
	stream       bool
}

// secure says whether TLS or DTLS is between.
func (t *target) secure() bool {
	return t.scheme == "https" || t.scheme == "coaps" || t.scheme == "mqtts"
}

// check fills in the defaults, refuses what cannot be driven, and resolves the host.
func (s Spec) check(ctx context.Context) (*target, error) {
	u, err := url.Parse(s.URL)
	if err != nil {
		return nil, err
	}
	if s.Protocol == "" && (u.Scheme == "mqtt" || u.Scheme == "mqtts") {
		s.Protocol = MQTT5
	} else if s.Protocol == "" {
		s.Protocol = HTTP1
	}
	if s.Method == "" {
		s.Method = "POST"
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
	t := &target{Spec: s, scheme: u.Scheme, host: u.Host, name: u.Hostname(), path: u.EscapedPath(), query: u.RawQuery}
	t.stream = t.scheme != "coap" && t.scheme != "coaps" && t.scheme != "udp" && t.Protocol != HTTP3
	if err := t.refuse(); err != nil {
		return nil, fmt.Errorf("drive %s: %w", s.URL, err)
	}
	port, err := t.port(u.Port())
	if err != nil {
		return nil, fmt.Errorf("drive %s: %w", s.URL, err)
	}
	if t.addr, err = resolve(ctx, t.name, port, s.Family); err != nil {
		return nil, fmt.Errorf("drive %s: %w", s.URL, err)
	}
	return t, nil
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
		return 0, fmt.Errorf("port %s is not one; write 1 to 65535", text)
	}
	return uint16(port), nil
}

func (t *target) refuse() error {
	switch t.scheme {
	case "http", "https":
		t.path = httpTarget(t.path, t.query)
		if t.Protocol == HTTP3 && t.scheme == "http" {
			return errors.New("HTTP/3 is always encrypted; write https")
		}
		if !slices.Contains([]string{HTTP1, HTTP2, GRPC, HTTP3}, t.Protocol) {
			return fmt.Errorf("protocol %q; write %s, %s, %s or %s", t.Protocol, HTTP1, HTTP2, GRPC, HTTP3)
		}
		if err := checkHead(t.Spec); err != nil {
			return err
		}
	case "coap", "coaps", "coap+tcp":
	case "mqtt", "mqtts":
		switch {
		case t.Protocol != MQTT5 && t.Protocol != MQTT311:
			return fmt.Errorf("protocol %q; write %s or %s", t.Protocol, MQTT5, MQTT311)
		case t.QoS > 2:
			return fmt.Errorf("QoS %d; write 0, 1 or 2", t.QoS)
		case strings.Trim(t.path, "/") == "" || strings.ContainsAny(t.path, "+#%"):
			return fmt.Errorf("path %q is not the beginning of a topic; write mqtt://host/name", t.path)
		}
	case "tcp", "udp":
		if t.Answer < 1 || t.Answer > mostBody {
			return fmt.Errorf("a bare exchange with an answer of %d bytes; say how many the server answers, at least 1", t.Answer)
		}
		if t.scheme == "udp" && t.Answer > mostDatagram {
			return fmt.Errorf("an answer of %d bytes does not fit a datagram of at most %d; use tcp", t.Answer, mostDatagram)
		}
	default:
		return fmt.Errorf("scheme %q is none that drive speaks; it speaks http, https, coap, coaps, coap+tcp, mqtt, mqtts, tcp, udp", t.scheme)
	}
	switch {
	case t.name == "":
		return errors.New("no host")
	case t.Family != "" && t.Family != "4" && t.Family != "6":
		return fmt.Errorf("IP version %q; write 4 or 6", t.Family)
	case t.Connection == Pipelined && (t.scheme != "http" || t.Protocol != HTTP1):
		return errors.New("pipelining is HTTP/1.1's, without TLS")
	case t.Connection == Multiplexed && !(t.Protocol == HTTP3 || t.scheme == "http" && (t.Protocol == HTTP2 || t.Protocol == GRPC)):
		return errors.New("multiplexing is of HTTP/2 and gRPC, without TLS, and of HTTP/3")
	case !slices.Contains([]string{KeepAlive, PerRequest, Pipelined, Multiplexed}, t.Connection):
		return fmt.Errorf("connection %q; write %s, %s, %s or %s", t.Connection, KeepAlive, PerRequest, Pipelined, Multiplexed)
	case t.Concurrency < 1 || t.Concurrency > 10_000:
		return fmt.Errorf("concurrency %d; write 1 to 10000", t.Concurrency)
	case t.Timeout < time.Millisecond:
		return fmt.Errorf("timeout %v; write at least 1ms", t.Timeout)
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
