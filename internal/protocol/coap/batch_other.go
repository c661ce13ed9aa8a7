//go:build !linux

package coap

import "net"

// serveAlone reads the socket and runs the handlers until the socket is closed.
func (ep *endpoint) serveAlone(conn *net.UDPConn) error {
	for t := newTask(udpRoom); ; {
		n, from, err := conn.ReadFromUDPAddrPort(t.buf)
		if err != nil {
			return err
		}
		if ep.answerTo(t, from, t.buf[:n]) {
			ep.send(t.from, t.wire)
		}
	}
}
