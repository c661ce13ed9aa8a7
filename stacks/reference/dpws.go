package reference

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"edgegauge.example/edgegauge/internal/protocol/dpws"
	"edgegauge.example/edgegauge/internal/service"
	"edgegauge.example/edgegauge/internal/service/codec"
	"edgegauge.example/edgegauge/internal/service/xmlstream"
	"edgegauge.example/edgegauge/internal/stack"
)

// dpwsOptions: nodelay on or off at both sides' sockets; the bound of the
// device's random delay (APP_MAX_DELAY); whether the client looks for the device once,
// before the first request of every run, or before each, and by Probe or Resolve;
// whether the device is an event source.
var dpwsOptions = []string{"nodelay", "match_delay", "discovery", "search", "events"}

// What every device of a stack under test is, and what its service is.
var (
	dpwsDevice  = dpws.QName{Space: codec.Namespace, Local: "Device"}
	dpwsService = dpws.QName{Space: codec.Namespace, Local: "Services"}
)

// A dpwsServer is one device with one hosted service, each a path of one HTTP
// server.
type dpwsServer struct {
	*httpServer
	description dpws.Description
	namer       *locked
	subscribers *dpws.Subscriptions // of the answers to all requests; nil: no event source
	end         context.CancelFunc
	ended       chan struct{}
}

// serveDPWS's URL is dpws://HOST:PORT/SERVICE#urn:uuid:…; a client uses the
// fragment to look for the device, and the host to know on which interface.
func serveDPWS(p *program, s stack.Serve) (server, error) {
	params, err := dpwsParams(s.Options)
	if err != nil {
		return nil, err
	}
	host, err := netip.ParseAddr(s.Host)
	if err != nil {
		return nil, err
	}
	w, err := p.workers(s)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", net.JoinHostPort(s.Host, strconv.Itoa(s.Port)))
	if err != nil {
		return nil, err
	}
	if s.Options["nodelay"] == "off" {
		l = nagled{l}
	}
	network, err := dpws.JoinAt(host, true)
	if err != nil {
		l.Close()
		return nil, err
	}
	d := &dpwsServer{httpServer: &httpServer{workers: w, limit: s.Limits.Body, soap: true},
		namer: &locked{namer: dpws.NewNamer()}, ended: make(chan struct{})}
	d.describe("http://"+l.Addr().String(), s.Service)
	d.at = "dpws" + strings.TrimPrefix(d.description.Hosted[0].Addresses[0], "http") + "#" + d.description.EPR
	d.decode, d.encode = d.read, d.write
	mux := http.NewServeMux()
	mux.HandleFunc("/"+s.Service, d.serve)
	mux.HandleFunc("/device", d.device)
	if s.Options["events"] == "on" {
		d.subscribers = &dpws.Subscriptions{At: "http://" + l.Addr().String() + "/events"}
		mux.HandleFunc("/events/", d.events)
	}
	serve := &http.Server{Handler: mux, ErrorLog: p.log, ReadHeaderTimeout: patience}
	d.http = serve
	go serve.Serve(l)
	var ctx context.Context
	ctx, d.end = context.WithCancel(context.Background())
	device := dpws.NewDevice(network, d.description.Target, params)
	go func() {
		defer close(d.ended)
		device.Run(ctx)
		if seen := device.Counts.String(); seen != "" {
			p.log.Print("datagrams dropped: ", seen)
		}
	}()
	return d, nil
}

func (d *dpwsServer) describe(at, name string) {
	d.description = dpws.Description{
		Target: dpws.Target{EPR: dpws.NewUUID(), Types: []dpws.QName{{Space: dpws.Space, Local: "Device"}, dpwsDevice},
			XAddrs: []string{at + "/device"}, MetadataVersion: 1},
		Manufacturer: "edgegauge", Model: "reference/dpws", Name: "edgegauge " + name, Firmware: goVersion(), Serial: "0",
		Hosted: []dpws.Hosted{{Addresses: []string{at + "/" + name}, Types: []dpws.QName{dpwsService}, ID: name,
			WSDL: at + "/" + name + "?wsdl"}},
	}
}

func (d *dpwsServer) close() {
	d.end()
	<-d.ended
	if d.subscribers != nil {
		d.subscribers.Close()
	}
	d.httpServer.close()
}

// A nagled listener's connections wait with small segments.
type nagled struct{ net.Listener }

func (l nagled) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		err = c.(*net.TCPConn).SetNoDelay(false)
	}
	return c, err
}

func dpwsParams(options map[string]string) (dpws.Params, error) {
	p := dpws.DPWS()
	if text, ok := options["match_delay"]; ok {
		d, err := time.ParseDuration(text)
		if err != nil || d < 0 {
			return p, fmt.Errorf("invalid match_delay %q; write it like 2500ms", text)
		}
		p.MatchDelay = d
	}
	for name, levels := range map[string][]string{"nodelay": {"on", "off"}, "events": {"off", "on"},
		"discovery": {"once", "first", "each"}, "search": {"probe", "resolve"}} {
		if text := options[name]; text != "" && !slices.Contains(levels, text) {
			return p, fmt.Errorf("unknown %s %q; supported: %s", name, text, strings.Join(levels, ", "))
		}
	}
	return p, nil
}

// device answers what is asked of the device itself.
func (d *dpwsServer) device(w http.ResponseWriter, r *http.Request) {
	x := d.pool.Get().(*worker)
	defer d.pool.Put(x)
	if !d.gate(w, r, x, dpws.MaxEnvelope) {
		return
	}
	if err := dpws.Open(x.body, &x.header); err != nil {
		d.refuse(w, http.StatusBadRequest, err)
		return
	}
	d.describeTo(w, x, nil)
}

// events answers what is asked of a subscription's manager.
func (d *dpwsServer) events(w http.ResponseWriter, r *http.Request) {
	x := d.pool.Get().(*worker)
	defer d.pool.Put(x)
	if d.gate(w, r, x, dpws.MaxEnvelope) && !d.eventing(w, r, x) {
		d.refuse(w, http.StatusBadRequest, errors.New("send a request of WS-Eventing"))
	}
}

// eventing answers the request in x if it is one of WS-Eventing.
func (d *dpwsServer) eventing(w http.ResponseWriter, r *http.Request, x *worker) bool {
	if d.subscribers == nil {
		return false
	}
	d.namer.mu.Lock()
	b, status := d.subscribers.Answer(nil, d.namer.namer, x.body, r.URL.Path)
	d.namer.mu.Unlock()
	if status == 0 {
		return false
	}
	w.Header().Set("Content-Type", d.encoding.MediaType(d.name, true))
	w.WriteHeader(status)
	w.Write(b)
	return true
}

// event tells the subscribers of the answer in x.
func (d *dpwsServer) event(x *worker) {
	body := codec.Append(codec.XML, nil, d.name, true, &x.response)
	d.namer.mu.Lock()
	defer d.namer.mu.Unlock()
	d.subscribers.Notify(d.namer.namer, codec.Action(d.name)+"Event", body)
}

// gate reads a POST with an envelope into x, or refuses it.
func (d *dpwsServer) gate(w http.ResponseWriter, r *http.Request, x *worker, limit int64) bool {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", "POST")
		d.refuse(w, http.StatusMethodNotAllowed, errors.New("only POST is supported"))
		return false
	}
	if !d.encoding.Takes(r.Header.Get("Content-Type")) {
		d.refuse(w, http.StatusUnsupportedMediaType, errors.New("send application/soap+xml"))
		return false
	}
	var err error
	if x.body, err = readAll(x.body[:0], r, limit); err != nil {
		status := http.StatusBadRequest
		if errors.Is(err, errTooLarge) {
			status = http.StatusRequestEntityTooLarge
			w.Header().Set("Connection", "close")
		}
		d.refuse(w, status, err)
		return false
	}
	return true
}

// describeTo answers Get and GetMetadata; another action is a fault.
func (d *dpwsServer) describeTo(w http.ResponseWriter, x *worker, hosted *dpws.Hosted) {
	d.namer.mu.Lock()
	b, ok := d.description.Answer(nil, d.namer.namer, &x.header, hosted)
	if !ok {
		b = (&dpws.Fault{Code: "Sender", Subcode: "ActionNotSupported",
			Reason: "the action cannot be processed here"}).Append(nil, d.namer.namer, &x.header)
	}
	d.namer.mu.Unlock()
	w.Header().Set("Content-Type", d.encoding.MediaType(d.name, true))
	if !ok {
		w.WriteHeader(http.StatusBadRequest)
	}
	w.Write(b)
}

// errOther means that a request is not for the service, but about it.
var errOther = errors.New("unknown action")

// serve answers requests for the service, and those about it.
func (d *dpwsServer) serve(w http.ResponseWriter, r *http.Request) {
	d.underway.Add(1)
	defer d.underway.Add(-1)
	if r.Method == http.MethodGet && r.URL.RawQuery == "wsdl" {
		w.Header().Set("Content-Type", "text/xml; charset=utf-8")
		fmt.Fprint(w, wsdlOf(d.name, d.description.Hosted[0].Addresses[0]))
		return
	}
	x := d.pool.Get().(*worker)
	defer d.pool.Put(x)
	if !d.gate(w, r, x, d.limit) {
		return
	}
	err := d.work(x)
	if errors.Is(err, errOther) && d.eventing(w, r, x) {
		return
	}
	if errors.Is(err, errOther) {
		if err = dpws.Open(x.body, &x.header); err == nil {
			d.describeTo(w, x, &d.description.Hosted[0])
			return
		}
	}
	if err != nil {
		d.refuse(w, statusOf(err), err)
		return
	}
	head := w.Header()
	head.Set("Content-Type", d.encoding.MediaType(d.name, true))
	head.Set("Content-Length", strconv.Itoa(len(x.answer)))
	w.Write(x.answer)
	d.keep(x) // what subscribers are told is no part of the answer
	if d.subscribers != nil {
		d.event(x)
	}
}

// read decodes a request for the service with its addressing headers.
func (d *dpwsServer) read(x *worker) error {
	h := &x.header
	h.Reset()
	action := codec.Action(d.name)
	err := codec.DecodeEnvelope(d.encoding, x.body, d.name, false, &x.request, func(p *xmlstream.Parser) (bool, error) {
		understood, err := h.Read(p)
		if err == nil && len(h.Action) > 0 && string(h.Action) != action {
			err = errOther
		}
		return understood, err
	})
	if err == nil && (len(h.Action) == 0 || len(h.MessageID) == 0) {
		// WS-Addressing 1.0, SOAP binding, section 6.4.2
		err = errors.New("a required header representing a Message Addressing Property is not present")
	}
	return err
}

// write makes the response of the request last read into x.
func (d *dpwsServer) write(x *worker) {
	h := &x.reply
	h.Action = append(append(h.Action[:0], codec.Action(d.name)...), "Response"...)
	h.MessageID = d.namer.append(h.MessageID[:0])
	h.RelatesTo = append(h.RelatesTo[:0], x.header.MessageID...)
	x.answer = h.AppendStart(x.answer[:0])
	x.answer = codec.Append(codec.XML, x.answer, d.name, true, &x.response)
	x.answer = append(x.answer, dpws.End...)
}

// wsdlOf is the contract's WSDL, cut down to one service and SOAP 1.2.
func wsdlOf(name service.Name, at string) string {
	return strings.NewReplacer("{name}", string(name), "{ns}", codec.Namespace, "{at}", at).Replace(
		`<wsdl:definitions name="Services" targetNamespace="{ns}" xmlns:tns="{ns}" ` +
			`xmlns:wsdl="http://schemas.xmlsoap.org/wsdl/" ` +
			`xmlns:soap12="http://schemas.xmlsoap.org/wsdl/soap12/" ` +
			`xmlns:wsam="http://www.w3.org/2007/05/addressing/metadata" xmlns:xs="http://www.w3.org/2001/XMLSchema">` +
			`<wsdl:types><xs:schema><xs:import namespace="{ns}"/></xs:schema></wsdl:types>` +
			`<wsdl:message name="{name}"><wsdl:part name="parameters" element="tns:{name}"/></wsdl:message>` +
			`<wsdl:message name="{name}Response"><wsdl:part name="parameters" element="tns:{name}Response"/></wsdl:message>` +
			`<wsdl:portType name="Services"><wsdl:operation name="{name}"><wsdl:input message="tns:{name}" ` +
			`wsam:Action="{ns}/{name}"/>` +
			`<wsdl:output message="tns:{name}Response" wsam:Action="{ns}/{name}Response"/></wsdl:operation></wsdl:portType>` +
			`<wsdl:binding name="Services12" type="tns:Services"><soap12:binding style="document" ` +
			`transport="http://schemas.xmlsoap.org/soap/http"/>` +
			`<wsdl:operation name="{name}"><soap12:operation soapAction="{ns}/{name}"/><wsdl:input><soap12:body ` +
			`use="literal"/></wsdl:input>` +
			`<wsdl:output><soap12:body use="literal"/></wsdl:output></wsdl:operation></wsdl:binding>` +
			`<wsdl:service name="Services"><wsdl:port name="Port12" binding="tns:Services12"><soap12:address ` +
			`location="{at}"/></wsdl:port></wsdl:service></wsdl:definitions>`)
}

// addressTo is this machine's address from which u's host is reached. Nothing is sent.
func addressTo(u *url.URL) (netip.Addr, error) {
	c, err := net.Dial("udp", u.Host)
	if err != nil {
		return netip.Addr{}, err
	}
	defer c.Close()
	return c.LocalAddr().(*net.UDPAddr).AddrPort().Addr().Unmap(), nil
}
