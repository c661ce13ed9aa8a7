package dpws

import (
	"context"
	"net/netip"
	"sync"
	"testing"
)

// Probes go on coming while a device ends: nothing waits for answers that begin
// after it began to wait, and none is sent after its Bye. Run with -race.
func TestDeviceEndsWhileItIsAsked(t *testing.T) {
	for range 50 {
		e := newEther(0, 1)
		params := DPWS()
		params.MatchDelay, params.UnicastRepeat, params.MulticastRepeat = 0, 1, 0
		d := NewDevice(e.join(true), Target{EPR: "urn:uuid:1", Types: []QName{lamp},
			XAddrs: []string{"http://10.0.0.1/"}}, params)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan bool)
		go func() { d.Run(ctx); close(ended) }()
		var askers sync.WaitGroup
		stop := make(chan bool)
		for range 3 {
			w := writer{namer: NewNamer()}
			askers.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
						b, _ := w.probe(&Wanted{Types: []QName{lamp}})
						d.take(ctx, b, netip.MustParseAddrPort("10.0.0.9:40000"))
					}
				}
			})
		}
		cancel()
		<-ended
		close(stop)
		askers.Wait()
	}
}
