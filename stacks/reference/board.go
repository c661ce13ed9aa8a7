//go:build board

package reference

import (
	"errors"

	"edgegauge.example/edgegauge/internal/drive"
	"edgegauge.example/edgegauge/internal/stack"
)

// What goes to a board has no QUIC, no broker and no populations (cmd/edgegauge-board). The lab
// sends the other program where Whole says so.

func serveHTTP3(*program, stack.Serve) (server, error) {
	return nil, errors.New("this is edgegauge-board, which has no HTTP/3; use edgegauge")
}

func openEmbedded(*program, stack.Serve, int, string) (broker, error) {
	return nil, errors.New("this is edgegauge-board, which has no MQTT broker; use edgegauge")
}

func (p *program) populate(stack.Call, drive.Spec, drive.Call, int) error {
	return errors.New("this is edgegauge-board, which has no populations of devices; use edgegauge")
}
