package reference

import (
	"bytes"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"edgegauge.example/edgegauge/internal/protocol/dpws"
)

// forgedMatch is a ProbeMatches that answers nothing that was asked: it says of
// the device, whose name everybody on the network hears, that it is elsewhere.
const forgedMatch = `<?xml version="1.0"?><s:Envelope xmlns:s="http://www.w3.org/2003/05/soap-envelope" xmlns:a="http://www.w3.org/2005/08/addressing"
 xmlns:d="http://docs.oasis-open.org/ws-dd/ns/discovery/2009/01" xmlns:e="urn:edgegauge:services:1"><s:Header>
<a:Action>http://docs.oasis-open.org/ws-dd/ns/discovery/2009/01/ProbeMatches</a:Action><a:MessageID>%s</a:MessageID><a:RelatesTo>urn:uuid:7b9f3f5c-0000-4000-8000-0123456789ab</a:RelatesTo>
<a:To>http://www.w3.org/2005/08/addressing/anonymous</a:To><d:AppSequence InstanceId="1" MessageNumber="1"/></s:Header><s:Body><d:ProbeMatches><d:ProbeMatch>
<a:EndpointReference><a:Address>%s</a:Address></a:EndpointReference><d:Types>e:Device</d:Types><d:XAddrs>http://127.0.0.1:9/elsewhere</d:XAddrs><d:MetadataVersion>1</d:MetadataVersion>
</d:ProbeMatch></d:ProbeMatches></s:Body></s:Envelope>`

// Somebody answers every Probe at once with matches that answer another's, with
// no XML, with what is too large, and with a body of another action: either client finds the
// device where it is.
func TestForgedMatchesMisleadNobody(t *testing.T) {
	ns, sdcri := beside(t)
	for _, client := range []string{"reference/dpws", "dpws-sdcri"} {
		t.Run(client, func(t *testing.T) {
			var network dpws.Network
			if err := within(ns, func() error {
				lo, err := net.InterfaceByName("lo")
				if err == nil {
					network, err = dpws.Join(lo, true)
				}
				return err
			}); err != nil {
				t.Fatal(err)
			}
			var device atomic.Value
			device.Store("")
			var forged atomic.Int64
			done := make(chan struct{})
			go func() {
				defer close(done)
				network.Receive(func(b []byte, from netip.AddrPort) {
					if !bytes.Contains(b, []byte("/discovery/2009/01/Probe<")) {
						return
					}
					forged.Add(1)
					match := fmt.Sprintf(forgedMatch, dpws.NewUUID(), device.Load())
					for _, lie := range []string{match, "\x16\x03\x01 no XML <", match + strings.Repeat(" ", 20_000),
						strings.ReplaceAll(match, "ProbeMatch", "ResolveMatch")[:len(match)/2],
						strings.Replace(match, "/ProbeMatches<", "/Hello<", 1)} {
						network.Unicast([]byte(lie), from)
					}
				})
			}()
			t.Cleanup(func() { network.Close(); <-done })
			srv, cl := start(t, sdcri, "reference/dpws", "serve", ns), start(t, sdcri, client, "call", ns)
			invokeKnown(t, srv, cl, "127.0.0.1", "probe", func(url string) {
				_, epr, _ := strings.Cut(url, "#")
				device.Store(epr)
			})
			if forged.Load() == 0 {
				t.Error("the forger heard no Probe")
			}
		})
	}
}
