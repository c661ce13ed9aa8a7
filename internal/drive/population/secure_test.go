package population

import (
	"net"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/protocol/coap"
	"edgegauge.example/edgegauge/internal/protocol/dtls"
)

var (
	testPSK    = dtls.Keys{Identity: "device", Key: []byte("sixteen bytes or")}
	testOSCORE = coap.Keys{Secret: []byte("sixteen bytes or"), SenderID: []byte{1}, RecipientID: []byte{2}}
)

// served is a server that answers with security, as another implementation speaks it (DTLS) or the
// one that libcoap and aiocoap were tried with (OSCORE), and its own count of requests.
func served(t *testing.T, s *Security) (*counter, net.Addr) {
	t.Helper()
	c := new(counter)
	loopback := &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)}
	if len(s.OSCORE.Secret) > 0 {
		conn, err := net.ListenUDP("udp4", loopback)
		if err != nil {
			t.Fatal(err)
		}
		turned := testOSCORE
		turned.SenderID, turned.RecipientID = turned.RecipientID, turned.SenderID
		c.serveAs(t, conn, &coap.Keyring{Keys: turned})
		return c, conn.LocalAddr()
	}
	l, err := coap.ListenDTLS("udp4", loopback, coap.PSK{Identity: testPSK.Identity, Key: testPSK.Key, CID: true})
	if err != nil {
		t.Fatal(err)
	}
	c.serveListener(t, l)
	return c, l.Addr()
}

// Devices with security get their answers, the server counts as many, and what was made in
// one run serves the next.
func TestDevicesWithSecurity(t *testing.T) {
	const devices = 200
	cid := testPSK
	cid.CID = true
	for name, x := range map[string]struct {
		security   Security
		non        bool
		handshakes int64
	}{
		"DTLS":                    {Security{DTLS: testPSK}, false, devices},
		"DTLS, NON":               {Security{DTLS: testPSK}, true, devices},
		"DTLS with connection ID": {Security{DTLS: cid}, false, devices},
		"OSCORE":                  {Security{OSCORE: testOSCORE}, false, 0},
		"OSCORE, NON":             {Security{OSCORE: testOSCORE}, true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, at := served(t, &x.security)
			s := posted(devices, time.Second, at)
			s.Security, s.NON = &x.security, x.non
			s.Timeout = 2 * time.Minute // on a machine that stands still most of the time some took more than 30 s
			p, err := New(s)
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			answered := int64(0)
			for run := range 2 {
				r, err := p.Run(t.Context(), Load{For: time.Second, Record: true})
				if err != nil {
					t.Fatal(err)
				}
				answered += r.Answered
				want := x.handshakes
				if run == 1 {
					want = 0
				}
				if r.Answered != r.Requests || r.Requests != devices || r.Handshakes != want || r.HandshakesFailed != 0 {
					t.Errorf("run %d: %+v", run, r.Counts)
				}
				if int64(r.Kept) != r.Requests {
					t.Errorf("run %d: %d rows of %d requests", run, r.Kept, r.Requests)
				}
				for e := range r.Exchanges() { // a handshake is before the request, and not in its RTT
					if (e.Connection > 0) != (want > 0) || e.Sent-e.Connection < e.Due || e.Total != e.Connection+e.RTT() {
						t.Fatalf("run %d: %+v", run, e)
					}
				}
			}
			if n := c.served(); n != int(answered) {
				t.Errorf("the server counted %d requests, the devices %d", n, answered)
			}
		})
	}
}

// After an outage devices with DTLS shake hands anew, from another address; with a connection
// ID, or OSCORE, they go on.
func TestSecurityAfterAnOutage(t *testing.T) {
	t.Parallel()
	const devices = 50
	cid := testPSK
	cid.CID = true
	for name, x := range map[string]struct {
		security Security
		again    bool
	}{
		"DTLS":                    {Security{DTLS: testPSK}, true},
		"DTLS with connection ID": {Security{DTLS: cid}, false},
		"OSCORE":                  {Security{OSCORE: testOSCORE}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, at := served(t, &x.security)
			s := posted(devices, 200*time.Millisecond, at)
			s.Security, s.Timeout = &x.security, 300*time.Millisecond
			s.Retry = Backoff{First: 100 * time.Millisecond, Factor: 2, Most: time.Second, Jitter: Full}
			p, err := New(s)
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			for try, open := 0, false; !open; try++ { // a busy machine takes longer for the handshakes
				if _, err := p.Run(t.Context(), Load{For: time.Second}); err != nil || try == 20 {
					t.Fatalf("not all devices have a session after %d runs (%v)", try+1, err)
				}
				open = true
				for i := range p.core.sessions {
					open = open && p.core.sessionOpen(int32(i))
				}
			}
			before := c.served()
			p.core.Outage = Outage{At: 300 * time.Millisecond, For: time.Second, Share: 1}
			r, err := p.Run(t.Context(), Load{For: 4 * time.Second, Record: true})
			if err != nil {
				t.Fatal(err)
			}
			if r.Failed == 0 || r.Answered == 0 || r.DownMost < devices/2 {
				t.Errorf("no outage was seen: %+v", r.Counts)
			}
			if r.Wrong != 0 {
				t.Errorf("%d answers were wrong", r.Wrong)
			}
			if (r.Handshakes > 0) != x.again {
				t.Errorf("%d handshakes after the outage", r.Handshakes)
			}
			after := c.served()
			p.core.Outage = Outage{}
			down := failing(p)
			for range 20 { // a busy machine takes longer
				if down <= devices/10 {
					break
				}
				if _, err := p.Run(t.Context(), Load{For: time.Second}); err != nil {
					t.Fatal(err)
				}
				down = failing(p)
			}
			if down > devices/10 {
				t.Errorf("%d devices did not come back: %+v", down, r.Counts)
			}
			if got := int64(after - before); got < r.Answered || got > r.Requests+r.Retransmissions {
				t.Errorf("the server counted %d, the devices %+v", got, r.Counts)
			}
		})
	}
}

// failing is how many devices had no answer to their last request.
func failing(p *Population) (n int) {
	for i := range p.core.devices {
		if p.core.devices[i].failures() > 0 {
			n++
		}
	}
	return n
}

// A wrong key is a failed request, not a wait without end.
func TestDevicesWithAWrongKey(t *testing.T) {
	t.Parallel()
	_, at := served(t, &Security{DTLS: testPSK})
	s := posted(3, time.Second, at)
	s.Security = &Security{DTLS: dtls.Keys{Identity: "nobody", Key: []byte("another")}}
	p, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	r, err := p.Run(t.Context(), Load{For: time.Second, Record: true})
	if err != nil {
		t.Fatal(err)
	}
	if r.Failed != 3 || r.HandshakesFailed != 3 || r.Requests != 3 {
		t.Errorf("%+v", r.Counts)
	}
}

// A request whose first message is lost, sealed or not, is answered when it is sent again.
func TestSecuredRequestsAreSentAgain(t *testing.T) {
	for name, x := range map[string]Security{"DTLS": {DTLS: testPSK}, "OSCORE": {OSCORE: testOSCORE}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, at := served(t, &x)
			s := posted(30, 500*time.Millisecond, at)
			s.Security = &x
			p, err := New(s)
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			if _, err := p.Run(t.Context(), Load{For: 500 * time.Millisecond}); err != nil {
				t.Fatal(err)
			}
			p.core.Outage = Outage{For: 500 * time.Millisecond, Share: 1}
			r, err := p.Run(t.Context(), Load{For: 500 * time.Millisecond, Record: true})
			if err != nil {
				t.Fatal(err)
			}
			if r.Answered != 30 || r.Withheld == 0 || r.Retransmissions == 0 || r.Wrong != 0 {
				t.Errorf("%+v", r.Counts)
			}
		})
	}
}
