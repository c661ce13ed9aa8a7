package packet

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What Dissect says of packets, tshark says too.
func TestDissectAgreesWithTshark(t *testing.T) {
	s := newScript(t)
	c, v := s.open(cliAddr, srvAddr)
	call(c, v)
	hangUp(c, v)
	v.send(rstFlag, "")
	s.udp(cliAddr, coapAddr, []byte("a datagram"))
	path := filepath.Join(t.TempDir(), "script.pcapng")
	if err := os.WriteFile(path, s.file(), 0o644); err != nil {
		t.Fatal(err)
	}
	rows := tshark(t, path, "ip", "ip.src", "ip.dst", "tcp.srcport", "tcp.dstport", "udp.srcport", "udp.dstport",
		"tcp.flags.str", "tcp.seq_raw", "tcp.len", "udp.length")
	if len(rows) != len(s.pkts) {
		t.Fatalf("tshark has %d packets of %d", len(rows), len(s.pkts))
	}
	letters := map[rune]string{'F': "FIN", 'S': "SYN", 'R': "RST", 'P': "PSH", 'A': "ACK"}
	for i, f := range rows {
		d := Dissect(&s.pkts[i])
		var flags []string
		for _, r := range "FSRPA" {
			if strings.ContainsRune(f[6], r) {
				flags = append(flags, letters[r])
			}
		}
		want := fmt.Sprintf("TCP %s:%s %s:%s [%s] %s %s", f[0], f[2], f[1], f[3], strings.Join(flags, " "), f[7], f[8])
		got := fmt.Sprintf("%s %v %v [%s] %d %d", d.Protocol, d.From, d.To, d.Flags, d.Seq, d.Payload)
		if d.Protocol == "UDP" {
			want = fmt.Sprintf("%s:%s %s:%s %s", f[0], f[4], f[1], f[5], f[9])
			got = fmt.Sprintf("%v %v %d", d.From, d.To, d.Payload+8)
		}
		if got != want {
			t.Errorf("packet %d: got %s, want %s", i+1, got, want)
		}
	}
	if d := Dissect(&s.pkts[len(s.pkts)-1]); d.Protocol != "UDP" || string(d.Data) != "a datagram" {
		t.Errorf("got %s, %q", d.Protocol, d.Data)
	}
}

func TestDissectSaysWhatItCannotRead(t *testing.T) {
	for want, p := range map[string]Packet{
		"cut":       {Link: LinkEthernet, Data: []byte{1}, Length: 60},
		"malformed": {Link: LinkEthernet, Data: []byte{1}, Length: 1},
		"IP":        {Link: LinkEthernet, Data: make([]byte, 60), Length: 60},
	} {
		if d := Dissect(&p); d.Protocol != want || d.Flags != "" || d.Payload != 0 {
			t.Errorf("got %+v, want %q", d, want)
		}
	}
}
