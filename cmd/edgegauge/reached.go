package main

import (
	"net"

	"edgegauge.example/edgegauge/internal/fleet/wire"
)

// reached is what a run reaches before it makes results: nothing is left behind where it cannot.
type reached struct {
	page  net.Listener // of --web
	board *wire.Board  // of benches elsewhere
}

func (r *reached) reach(f running) (err error) {
	if f.page != "" {
		if r.page, err = listenForPage(f.page); err != nil {
			return err
		}
	}
	if f.shared.elsewhere() {
		r.board, err = f.shared.board()
	}
	return err
}
