//go:build board

package drive

import "errors"

// What goes to a board has no QUIC (cmd/edgegauge-board).

type http3Conn struct{}

func (d *Driver) newHTTP3Stream(int) (stream, error) {
	return nil, errors.New("this is edgegauge-board, which has no HTTP/3; use edgegauge")
}
