//go:build !linux

package coap

import (
	"context"
	"net"
)

// serveAlone reads the socket and runs the handlers until ctx ends.
func (ep *endpoint) serveAlone(ctx context.Context, conn *net.UDPConn) error {
	defer ep.keepTime()()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	for t := newTask(udpRoom); ; {
		n, from, err := conn.ReadFromUDPAddrPort(t.buf)
		if err != nil {
			return err
		}
		if answers, _ := ep.answerTo(t, from, t.buf[:n]); answers {
			ep.send(t.from, t.wire)
		}
	}
}
