//go:build !board

package reference

import (
	"context"
	"net"
	"net/http"
	"strconv"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"

	"edgegauge.example/edgegauge/internal/stack"
)

// serveHTTP3 listens for REST over HTTP/3; the handler is that of HTTP/1.1 and 2.
func serveHTTP3(p *program, s stack.Serve) (server, error) {
	w, err := p.workers(s)
	if err != nil {
		return nil, err
	}
	config, err := tlsConfig(s)
	if err != nil {
		return nil, err
	}
	address, err := net.ResolveUDPAddr("udp", net.JoinHostPort(s.Host, strconv.Itoa(s.Port)))
	if err != nil {
		return nil, err
	}
	conn, err := net.ListenUDP("udp", address)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	h := &httpServer{workers: w, limit: s.Limits.Body, at: "https://" + conn.LocalAddr().String() + "/" + s.Service}
	mux.HandleFunc("/"+s.Service, h.handle)
	serve := &http3.Server{Handler: mux, TLSConfig: http3.ConfigureTLSConfig(config),
		QUICConfig: &quic.Config{HandshakeIdleTimeout: patience, MaxIncomingStreams: mostStreams}}
	h.http = quicServer{serve, conn}
	go serve.Serve(conn)
	return h, nil
}

// A quicServer closes its socket as well.
type quicServer struct {
	*http3.Server
	conn net.PacketConn
}

func (q quicServer) Shutdown(ctx context.Context) error {
	err := q.Server.Shutdown(ctx)
	q.conn.Close()
	return err
}

func (q quicServer) Close() error {
	err := q.Server.Close()
	q.conn.Close()
	return err
}
