package coap

import (
	"fmt"
	"net/netip"
	"testing"
	"time"
)

// However many strangers come, and whatever they begin, memory stays bounded,
// and the next honest client is served.
func TestNothingGrows(t *testing.T) {
	asked := 0
	d := newDesk(t, &Server{Handler: shop(&asked), MaxPeers: 50, MaxTransfers: 20, MaxHeld: 30_000})
	begun := 0
	for i := range 2000 {
		d.peer = netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), 5683)
		d.now += time.Millisecond
		if d.ask("CON PUT /sum 1:0/1/1024 (1024@0)") == "ACK 2.31 1:0/1/1024" {
			begun++
		}
		d.ask("CON GET /2500")
		if len(d.ep.peers) > 50 || d.ep.transfers.n > 20 || d.ep.held > 30_000+5000 {
			t.Fatalf("after %d strangers: %d peers, %d transfers, %d bytes", i, len(d.ep.peers), d.ep.transfers.n, d.ep.held)
		}
	}
	d.books()
	if begun == 0 {
		t.Error("nobody could begin")
	}
	for i := range 100 { // one peer, many bodies
		d.ask(fmt.Sprintf("CON PUT /%d 1:0/1/16 (16@0)", i))
	}
	if n := len(d.ep.peers[d.peer].transfers); n > maxPerPeer {
		t.Errorf("one peer has %d transfers", n)
	}
	d.now += stale
	if got := d.ask("CON PUT /sum 1:0/1/1024 (1024@0)"); got != "ACK 2.31 1:0/1/1024" {
		t.Errorf("the next one is told %q", got)
	}
	d.now += ExchangeLifetime
	d.ep.tick(d.now)
	if d.ep.transfers.n != 0 || d.ep.held != 0 || len(d.ep.peers) != 0 {
		t.Errorf("after EXCHANGE_LIFETIME: %d transfers, %d bytes, %d peers", d.ep.transfers.n, d.ep.held, len(d.ep.peers))
	}
	d.books()
}

// RFC 7252, section 11.3: no answer is larger than a block and its header,
// whatever is asked.
func TestNoAnswerAboveBlockSize(t *testing.T) {
	for _, size := range []int{16, 64, 1024} {
		asked := 0
		d := newDesk(t, &Server{Handler: shop(&asked), BlockSize: size})
		for _, q := range []string{"CON GET /5000", "CON GET /5000 2:0/0/1024", "NON GET /5000 size2=0",
			"CON POST /4999 (1@0)", "CON GET /5000 2:2/0/1024"} {
			d.ask(q)
			if n := len(d.task.wire); n > size+32 {
				t.Errorf("block size %d: answer to %s has %d bytes", size, q, n)
			}
		}
	}
}

func TestOnePeerHasItsShare(t *testing.T) {
	d := newDesk(t, &Server{Handler: echo})
	for i := range 100 {
		if got := d.ask(fmt.Sprintf("CON PUT /%d 1:0/1/16 (16@0)", i)); got != "ACK 2.31 1:0/1/16" {
			t.Fatalf("body %d: got %q", i, got)
		}
	}
	if d.ep.transfers.n != maxPerPeer {
		t.Errorf("one peer has %d transfers, want %d", d.ep.transfers.n, maxPerPeer)
	}
	if got := d.ask("CON PUT /99 1:1/0/16 (1@0)"); got != "ACK 4.04 1:1/0/16" {
		t.Errorf("its latest: got %q", got)
	}
	d.books()
}

// A message of 16 MiB over TCP may be nothing but options: it must not cost its receiver half a gigabyte.
func TestOptionsAreBounded(t *testing.T) {
	for n, fits := range map[int]bool{mostOptions: true, mostOptions + 1: false, 1 << 20: false} {
		m := Message{Code: POST, Options: make([]Option, n)}
		var datagram, stream Message
		err := datagram.Decode(m.Append(nil))
		_, err2 := stream.DecodeStream(m.AppendStream(nil), 2<<20)
		if most := max(cap(datagram.Options), cap(stream.Options)); (err == nil) != fits || (err2 == nil) != fits ||
			most > 2*mostOptions {
			t.Errorf("%d options: %v, over TCP %v; room for %d", n, err, err2, most)
		}
	}
}
