// Package reference holds the stacks inside this binary: REST, SOAP, CoAP and
// the floor, each as a program that speaks the adapter protocol. They need
// nothing installed, and are what foreign stacks are compared with.
package reference

import (
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"edgegauge.example/edgegauge/internal/drive"
	"edgegauge.example/edgegauge/internal/service"
	"edgegauge.example/edgegauge/internal/service/codec"
	"edgegauge.example/edgegauge/internal/stack"
)

// Prefix begins the full name of every reference stack.
const Prefix = "reference/"

// A kind is one reference stack.
type kind struct {
	name      string
	title     string
	transport string
	versions  []string // of transport, each a transport of the study; nil: transport alone
	needs     []stack.Need
	encodings []codec.Encoding
	security  []string
	services  []service.Name
	options   []string
	refuses   optionCheck // why its programs refuse options; nil: they have none
	serve     func(*program, stack.Serve) (server, error)
	floor     bool // a bare exchange of bytes
	// find, where there is one, looks for the server: it puts the URL to drive
	// into the call and wraps the caller.
	find func(*program, *stack.Call, *caller) (drive.Call, error)
}

func kinds() []kind {
	all := service.Names()
	// the leanest first
	every := []codec.Encoding{codec.Protobuf, codec.CBOR, codec.MsgPack, codec.Text, codec.JSON, codec.XML,
		codec.SOAP11, codec.SOAP12}
	rest := func(e codec.Encoding, title string) kind {
		return kind{name: "rest-" + string(e), title: "REST over HTTP/1.1, " + title, transport: "http",
			encodings: []codec.Encoding{e}, security: []string{"none", "tls"}, services: all, serve: serveHTTP}
	}
	coap := func(e codec.Encoding, title string) kind {
		return kind{name: "coap-" + string(e), title: "CoAP over UDP, " + title, transport: "coap",
			encodings: []codec.Encoding{e}, security: []string{"none", "dtls-psk", "oscore"}, services: all,
			options: coapOptions,
			refuses: coapRefuses, serve: serveCoAP}
	}
	stream := func(e codec.Encoding, title string) kind {
		return kind{name: "coap-tcp-" + string(e), title: "CoAP over TCP, " + title, transport: "coap-tcp",
			encodings: []codec.Encoding{e}, security: []string{"none"}, services: all, serve: serveCoAP}
	}
	floor := func(transport string) kind {
		return kind{name: "floor-" + transport,
			title:     "a bare " + strings.ToUpper(transport) + " exchange of the same number of bytes",
			transport: transport, encodings: every, security: []string{"none"}, services: all, serve: serveFloor, floor: true}
	}
	mqtt := func(name, by string, needs []stack.Need, open openBroker, encodings ...codec.Encoding) kind {
		return kind{name: name, title: "requests over MQTT, " + by, transport: "mqtt",
			versions: []string{mqtt5, mqtt311}, needs: needs,
			encodings: encodings, security: []string{"none", "tls"}, services: all, options: mqttOptions,
			refuses: mqttRefuses, serve: serveMQTT(open)}
	}
	return []kind{
		rest(codec.JSON, "JSON"), rest(codec.XML, "XML"), rest(codec.CBOR, "CBOR"), rest(codec.MsgPack, "MessagePack"),
		rest(codec.Protobuf, "Protocol Buffers"),
		rest(codec.Text, "raw text"),
		{name: "soap", title: "SOAP 1.1 and 1.2 over HTTP/1.1", transport: "http",
			encodings: []codec.Encoding{codec.SOAP11, codec.SOAP12},
			security:  []string{"none", "tls"}, services: all, serve: serveHTTP},
		coap(codec.JSON, "JSON"), coap(codec.CBOR, "CBOR"), coap(codec.Protobuf, "Protocol Buffers"), coap(codec.XML, "XML"),
		{name: "coap-soap", title: "SOAP 1.1 and 1.2 over CoAP", transport: "coap",
			encodings: []codec.Encoding{codec.SOAP11, codec.SOAP12},
			security:  []string{"none", "dtls-psk"}, services: all, serve: serveCoAP},
		{name: "rest-exi", title: "REST over HTTP/1.1, EXI", transport: "http",
			encodings: []codec.Encoding{codec.EXISchema, codec.EXISchemaCompressed},
			security:  []string{"none", "tls"}, services: all, serve: serveHTTP},
		{name: "soap-exi", title: "SOAP 1.2 over HTTP/1.1, EXI", transport: "http",
			encodings: []codec.Encoding{codec.SOAP12EXISchema, codec.SOAP12EXISchemaCompressed},
			security:  []string{"none", "tls"}, services: all, serve: serveHTTP},
		{name: "coap-exi", title: "CoAP over UDP, EXI", transport: "coap",
			encodings: []codec.Encoding{codec.EXISchema, codec.EXISchemaCompressed},
			security:  []string{"none", "dtls-psk", "oscore"}, services: all, options: coapOptions,
			refuses: coapRefuses, serve: serveCoAP},
		{name: "coap-soap-exi", title: "SOAP 1.2 over CoAP, EXI", transport: "coap",
			encodings: []codec.Encoding{codec.SOAP12EXISchema, codec.SOAP12EXISchemaCompressed},
			security:  []string{"none", "dtls-psk"}, services: all, serve: serveCoAP},
		stream(codec.CBOR, "CBOR"), stream(codec.Protobuf, "Protocol Buffers"),
		{name: "http2", title: "REST over HTTP/2, with prior knowledge or by ALPN", transport: "http2", encodings: every,
			security: []string{"none", "tls"}, services: all, serve: serveHTTP},
		{name: "http3", title: "REST over HTTP/3", transport: "http3",
			encodings: []codec.Encoding{codec.Protobuf, codec.CBOR, codec.JSON, codec.XML},
			security:  []string{"tls"}, services: all, serve: serveHTTP3},
		{name: "grpc", title: "gRPC, unary calls over HTTP/2", transport: "grpc", encodings: []codec.Encoding{codec.Protobuf},
			security: []string{"none", "tls"}, services: all, serve: serveHTTP},
		mqtt("mqtt", "mochi's broker in this binary", nil, openEmbedded, codec.Protobuf, codec.CBOR, codec.JSON, codec.XML),
		mqtt("mqtt-mosquitto", "the broker Mosquitto", mosquittoNeeds, openMosquitto, codec.Protobuf, codec.JSON),
		floor("tcp"), floor("udp"),
		{name: "dpws", title: "DPWS 1.1: WS-Discovery, metadata, SOAP 1.2 with WS-Addressing", transport: "dpws",
			encodings: []codec.Encoding{codec.SOAP12},
			security:  []string{"none"}, services: all, options: dpwsOptions,
			refuses: dpwsRefuses, serve: serveDPWS, find: findDPWS},
		{name: "phantom", title: "REST with known delays and deliberate faults, to test the lab itself", transport: "http",
			encodings: []codec.Encoding{codec.XML},
			security:  []string{"none"}, services: all, options: phantomOptions,
			refuses: phantomRefuses, serve: servePhantom},
	}
}

// Stacks describes the reference stacks. They have no folder: Dir is empty.
func Stacks() []stack.Description {
	var out []stack.Description
	for _, k := range kinds() {
		// over UDP, a new one is a new socket, and with DTLS a new handshake
		connections := []string{"keep-alive", "per-request"}
		if k.floor {
			connections = connections[:1]
		}
		o := stack.Offer{Security: k.security, Transports: []string{k.transport}, Sides: []string{"server", "client"},
			Connections: connections}
		if k.transport == "http3" {
			o.Connections = []string{"keep-alive", "per-request", "multiplexed"}
		}
		if k.versions != nil {
			o.Transports = k.versions
		}
		for _, s := range k.services {
			o.Services = append(o.Services, string(s))
		}
		for _, e := range k.encodings {
			o.Encodings = append(o.Encodings, string(e))
		}
		offers := []stack.Offer{o}
		if together := map[string]string{"http": "pipelined", "http2": "multiplexed",
			"grpc": "multiplexed"}[k.transport]; together != "" {
			plain, secure := o, o
			plain.Security, plain.Connections = []string{"none"}, append(slices.Clone(connections), together)
			offers, secure.Security = []stack.Offer{plain},
				slices.DeleteFunc(slices.Clone(k.security), func(s string) bool { return s == "none" })
			if len(secure.Security) > 0 {
				offers = append(offers, secure)
			}
		}
		out = append(out, stack.Description{Name: Prefix + k.name, Title: k.title, Version: goVersion(), Language: "Go",
			Needs:   k.needs,
			Options: append([]string{}, k.options...), Serves: offers, Floor: k.floor})
	}
	return out
}

// Whole tells whether a side (server or client) of a stack in this binary needs
// what edgegauge-board leaves out: QUIC, or the embedded MQTT broker.
func Whole(name, side, transport string) bool {
	k, ok := find(name)
	switch {
	case !ok:
		return false
	case k.transport == "mqtt":
		return side == "server" && k.needs == nil
	}
	return k.transport == "http3" || transport == "http3"
}

// Populates tells whether the client of a stack can be many devices.
func Populates(name string) bool {
	k, ok := find(name)
	return ok && (k.transport == "coap" || KeepsConnections(name))
}

// KeepsConnections tells whether devices of a stack have a connection each, over TCP.
func KeepsConnections(name string) bool {
	k, ok := find(name)
	return ok && k.name != "phantom" && slices.Contains([]string{"http", "mqtt", "tcp"}, k.transport)
}

func goVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return strings.TrimPrefix(info.GoVersion, "go")
	}
	return "unknown"
}

// known are the kinds by their names, with and without the prefix: whoever checks a plan asks for each treatment.
var known = sync.OnceValue(func() map[string]kind {
	all := map[string]kind{}
	for _, k := range kinds() {
		all[k.name], all[Prefix+k.name] = k, k
	}
	return all
})

func find(name string) (kind, bool) {
	k, ok := known()[name]
	return k, ok
}
