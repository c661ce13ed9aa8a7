package packet

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/bpf"
)

// passes runs the filter as the kernel would.
func passes(t *testing.T, l LinkType, ports []uint16, frame []byte) int {
	t.Helper()
	raw, err := filter(l, ports, 96)
	if err != nil {
		t.Fatal(err)
	}
	code, ok := bpf.Disassemble(raw)
	if !ok {
		t.Fatal("the filter does not disassemble")
	}
	vm, err := bpf.NewVM(code)
	if err != nil {
		t.Fatal(err)
	}
	n, err := vm.Run(frame)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestFilter(t *testing.T) {
	s := newScript(t)
	c4, v4 := s.dial(cliAddr, srvAddr)
	c6, _ := s.dial(cliAddr6, srvAddr6)
	many := []uint16{80}
	for i := range uint16(maxPorts - 1) {
		many = append(many, 1000+i)
	}
	frame := func(p *Packet, change func(b []byte)) []byte {
		b := slices.Clone(p.Data)
		if change != nil {
			change(b)
		}
		return b
	}
	for _, c := range []struct {
		name  string
		frame []byte
		ports []uint16
		want  bool
	}{
		{"to the port", frame(c4.send(synFlag, ""), nil), []uint16{80}, true},
		{"from the port", frame(v4.send(ackFlag, ""), nil), []uint16{80}, true},
		{"another port", frame(c4.send(synFlag, ""), nil), []uint16{81}, false},
		{"IPv6", frame(c6.send(synFlag, ""), nil), []uint16{80}, true},
		{"IPv6 from the port", frame(c6.send(synFlag, ""), nil), []uint16{40000}, true},
		{"IPv6, another port", frame(c6.send(synFlag, ""), nil), []uint16{81}, false},
		{"the last of many", frame(c6.send(synFlag, ""), nil), append(slices.Clone(many[1:]), 40000), true},
		{"the first of many", frame(c4.send(synFlag, ""), nil), many, true},
		{"none of many", frame(c4.send(synFlag, ""), nil), many[1:], false},
		{"UDP", frame(s.udp(cliAddr, coapAddr, nil), nil), []uint16{5683}, true},
		{"UDP, another port", frame(s.udp(cliAddr, coapAddr, nil), nil), []uint16{80}, false},
		{"IPv4 options move the ports", frame(c4.send(synFlag, ""), func(b []byte) {
			b[14] = 0x46
			copy(b[38:], b[34:40])
			copy(b[34:], []byte{0, 0, 0, 0})
		}), []uint16{80}, true},
		{"ICMP", frame(c4.send(synFlag, ""), func(b []byte) { b[23] = 1 }), []uint16{80}, false},
		{"first fragment", frame(c4.send(synFlag, ""), func(b []byte) { b[20] = 0x20 }), []uint16{80}, true},
		{"later fragment", frame(c4.send(synFlag, ""), func(b []byte) { b[21] = 5 }), []uint16{80}, false},
		{"IPv6 extension header", frame(c6.send(synFlag, ""), func(b []byte) { b[20] = 44 }), []uint16{9}, true},
		{"ICMPv6", frame(c6.send(synFlag, ""), func(b []byte) { b[20] = 58 }), []uint16{80}, false},
		{"ARP", frame(c4.send(synFlag, ""), func(b []byte) { b[13] = 6 }), []uint16{80}, false},
		{"VLAN tag", frame(c4.send(synFlag, ""), func(b []byte) { b[12] = 0x81 }), []uint16{9}, true},
		{"all ports", frame(c4.send(synFlag, ""), func(b []byte) { b[13] = 6 }), nil, true},
	} {
		want := 0
		if c.want {
			want = 96
		}
		if got := passes(t, LinkEthernet, c.ports, c.frame); got != want {
			t.Errorf("%s: got %d, want %d", c.name, got, want)
		}
		if b := c.frame; b[12] == 0x08 && b[13] == 0 || b[12] == 0x86 {
			if got := passes(t, LinkRaw, c.ports, b[14:]); got != want {
				t.Errorf("%s, without Ethernet: got %d, want %d", c.name, got, want)
			}
		}
	}
	if _, err := filter(LinkEthernet, append(many, 7), 0); err == nil || !strings.Contains(err.Error(), "at most 50") {
		t.Errorf("too many ports: %v", err)
	}
}
