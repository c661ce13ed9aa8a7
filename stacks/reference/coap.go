package reference

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log"
	"net"
	"strconv"

	"edgegauge.example/edgegauge/internal/protocol/coap"
	"edgegauge.example/edgegauge/internal/service/codec"
	"edgegauge.example/edgegauge/internal/stack"
)

// coapOptions: confirmable on or off, of the client's requests; answers are alike.
// connection_id on or off: with DTLS, the server gives one (RFC 9146), and the client asks for it.
// observe on or off: the server tells observers (RFC 7641) of each answered request; clients that are many
// devices may be observers.
var coapOptions = []string{"confirmable", "connection_id", "observe"}

// mostSecured are the DTLS sessions, or OSCORE contexts, that a server keeps at once: many devices are
// peers of their own.
const mostSecured = 1 << 17

// A coapServer is the service as one CoAP resource, POST to its name.
type coapServer struct {
	*workers
	at     string
	path   string
	format coap.Format
	end    context.CancelFunc
	ended  chan struct{}
	server *coap.Server
	log    *log.Logger
	news   *news // nil: nobody may observe
}

func serveCoAP(p *program, s stack.Serve) (server, error) {
	w, err := p.workers(s)
	if err != nil {
		return nil, err
	}
	number, ok := w.encoding.ContentFormat()
	if !ok {
		return nil, fmt.Errorf("encoding %s has no CoAP content format", w.encoding)
	}
	c := &coapServer{workers: w, path: s.Service, format: coap.FormatOf(number), ended: make(chan struct{}), log: p.log}
	srv := &coap.Server{Handler: c.handle, MaxBody: int(s.Limits.Body), MaxSessions: mostSecured}
	c.server = srv
	if c.news, err = newsOf(s, srv, c.path); err != nil {
		return nil, err
	}
	if s.Security == "oscore" {
		keys, err := oscoreKeys(s.Credentials)
		if err != nil {
			return nil, err
		}
		keys.SenderID, keys.RecipientID = keys.RecipientID, keys.SenderID
		srv.Keyring = &coap.Keyring{Keys: keys, Most: mostSecured}
	}
	if p.kind.transport == "coap-tcp" {
		return c.overTCP(srv, s)
	}
	address, err := net.ResolveUDPAddr("udp", net.JoinHostPort(s.Host, strconv.Itoa(s.Port)))
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	c.end = cancel
	if s.Security == "dtls-psk" {
		key, err := psk(s.Credentials)
		if err == nil {
			key.CID, err = connectionID(s.Security, s.Options)
		}
		if err != nil {
			return nil, err
		}
		l, err := coap.ListenDTLS("udp", address, key)
		if err != nil {
			return nil, err
		}
		c.at = "coaps://" + l.Addr().String() + "/" + s.Service
		go func() { defer close(c.ended); srv.ServeListener(ctx, l) }()
		return c, nil
	}
	conn, err := net.ListenUDP("udp", address)
	if err != nil {
		return nil, err
	}
	c.at = "coap://" + conn.LocalAddr().String() + "/" + s.Service
	go func() { defer close(c.ended); srv.Serve(ctx, conn) }()
	return c, nil
}

// overTCP serves on TCP connections (RFC 8323).
func (c *coapServer) overTCP(srv *coap.Server, s stack.Serve) (server, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(s.Host, strconv.Itoa(s.Port)))
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	c.at, c.end = "coap+tcp://"+l.Addr().String()+"/"+s.Service, cancel
	go func() { defer close(c.ended); srv.ServeStreams(ctx, l) }()
	return c, nil
}

// oscoreKeys are the client's view. Every client adds an ID context of its own.
func oscoreKeys(credentials map[string]string) (coap.Keys, error) {
	secret, err := hex.DecodeString(credentials["oscore_secret"])
	salt, err2 := hex.DecodeString(credentials["oscore_salt"])
	if err != nil || err2 != nil || len(secret) == 0 {
		return coap.Keys{}, errors.New("credentials: oscore_secret or oscore_salt is not hexadecimal")
	}
	return coap.Keys{Secret: secret, Salt: salt, SenderID: []byte{1}, RecipientID: []byte{2}}, nil
}

// unconfirmable reads the option confirmable.
func unconfirmable(options map[string]string) (bool, error) {
	switch v := options["confirmable"]; v {
	case "", "on":
		return false, nil
	case "off":
		return true, nil
	default:
		return false, fmt.Errorf("unknown confirmable %q; supported: on, off", v)
	}
}

// connectionID reads the option of that name.
func connectionID(security string, options map[string]string) (bool, error) {
	switch v := options["connection_id"]; {
	case v == "" || v == "off":
		return false, nil
	case v != "on":
		return false, fmt.Errorf("unknown connection_id %q; supported: on, off", v)
	case security != "dtls-psk":
		return false, errors.New("connection_id is for security dtls-psk; remove it")
	}
	return true, nil
}

func psk(credentials map[string]string) (coap.PSK, error) {
	key, err := hex.DecodeString(credentials["psk"])
	if err != nil || len(key) == 0 {
		return coap.PSK{}, errors.New("credentials: psk is not a hexadecimal key")
	}
	return coap.PSK{Identity: credentials["psk_identity"], Key: key}, nil
}

func (c *coapServer) url() string    { return c.at }
func (c *coapServer) take() *records { return c.kept.take() }

// close also says what was dropped or refused: the lab keeps it in the trial's serve.log.
func (c *coapServer) close() {
	c.end()
	<-c.ended
	c.sensor.close()
	if c.news != nil {
		c.news.close()
		c.log.Printf("notifications sent: %d", c.server.Counts.Notifications.Load())
	}
	if seen := c.server.Counts.String(); seen != "" {
		c.log.Print("dropped or refused: ", seen)
	}
}

func (c *coapServer) handle(req *coap.Request, resp *coap.Response) {
	switch {
	case string(req.Path) != c.path:
		resp.Code = coap.NotFound
		return
	case req.Method == coap.GET && c.news != nil:
		resp.Format = c.format
		resp.Body = append(resp.Body, c.news.latest()...)
		return
	case req.Method != coap.POST:
		resp.Code = coap.MethodNotAllowed
		return
	// no payload, no format (RFC 7252, section 5.5.1)
	case req.Format != c.format && !(req.Format == coap.NoFormat && len(req.Body) == 0):
		resp.Code = coap.UnsupportedContentFormat
		return
	}
	x := c.pool.Get().(*worker)
	defer c.pool.Put(x)
	x.body = append(x.body[:0], req.Body...)
	if err := c.work(x); err != nil {
		resp.Code = coap.BadRequest
		switch {
		case errors.Is(err, errService):
			resp.Code = coap.InternalServerError
		case errors.Is(err, codec.ErrTooLarge):
			resp.Code = coap.RequestEntityTooLarge
		}
		if c.encoding.SOAP() {
			resp.Format = c.format
			resp.Body = codec.AppendFault(c.encoding, resp.Body, faultOf(err))
			return
		}
		resp.Body = append(resp.Body, err.Error()...) // RFC 7252, section 5.5.2: a diagnostic payload
		return
	}
	resp.Format = c.format
	resp.Body = append(resp.Body, x.answer...)
	c.keep(x) // what observers are told is no part of the answer
	if c.news != nil {
		c.news.changed(x.answer)
	}
}
