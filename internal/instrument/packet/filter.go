package packet

import (
	"fmt"
	"slices"

	"golang.org/x/net/bpf"
)

// maxPorts keeps every jump of the filter within the 255 instructions it can skip.
const maxPorts = 50

// filter returns a program that passes TCP and UDP from or to the ports, in
// IPv4 and IPv6. It also passes what it cannot look into, so that the analysis
// can refuse it: IPv6 extension headers, tags inside the frame, and the first
// fragment of an IPv4 packet (later ones carry no ports).
func filter(l LinkType, ports []uint16, snaplen int) ([]bpf.RawInstruction, error) {
	if snaplen <= 0 {
		snaplen = 1 << 18
	}
	pass := bpf.RetConstant{Val: uint32(snaplen)}
	if len(ports) == 0 {
		return bpf.Assemble([]bpf.Instruction{pass})
	}
	ports = slices.Compact(slices.Sorted(slices.Values(ports)))
	if len(ports) > maxPorts {
		return nil, fmt.Errorf("a filter of %d ports; name at most %d, or none for all", len(ports), maxPorts)
	}
	f := assembly{labels: map[string]int{}}
	ip := f.version(l)

	f.label("IPv4")
	f.add(bpf.LoadAbsolute{Off: ip + 9, Size: 1})
	f.goIf("IPv4 ports", protoTCP, protoUDP)
	f.goTo("drop")
	f.label("IPv4 ports")
	f.add(bpf.LoadAbsolute{Off: ip + 6, Size: 2})
	f.add(bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: 0x1fff}) // fragment offset
	f.goIf("IPv4 first", 0)
	f.goTo("drop")
	f.label("IPv4 first")
	f.add(bpf.LoadMemShift{Off: ip}) // X is the header's length
	for _, off := range []uint32{ip, ip + 2} {
		f.add(bpf.LoadIndirect{Off: off, Size: 2})
		f.goIf("pass", ports...)
	}
	f.goTo("drop")

	f.label("IPv6")
	f.add(bpf.LoadAbsolute{Off: ip + 6, Size: 1})
	f.goIf("IPv6 ports", protoTCP, protoUDP)
	f.goIf("pass", 0, 43, 44, 51, 60) // extension headers
	f.goTo("drop")
	f.label("IPv6 ports")
	for _, off := range []uint32{ip + 40, ip + 42} {
		f.add(bpf.LoadAbsolute{Off: off, Size: 2})
		f.goIf("pass", ports...)
	}
	f.label("drop")
	f.add(bpf.RetConstant{})
	f.label("pass")
	f.add(pass)
	return f.assemble()
}

// An assembly is a program with jumps to labels further down.
type assembly struct {
	code   []bpf.Instruction
	jumps  map[int]string
	labels map[string]int
}

// version branches to the IP version; the IP header begins at the byte it returns.
func (f *assembly) version(l LinkType) (ip uint32) {
	if l == LinkRaw {
		f.add(bpf.LoadAbsolute{Off: 0, Size: 1})
		f.add(bpf.ALUOpConstant{Op: bpf.ALUOpShiftRight, Val: 4})
		f.goIf("IPv4", 4)
		f.goIf("IPv6", 6)
		f.goTo("drop")
		return 0
	}
	f.add(bpf.LoadAbsolute{Off: 12, Size: 2})
	f.goIf("IPv4", 0x0800)
	f.goIf("IPv6", 0x86dd)
	f.goIf("pass", 0x8100, 0x88a8)
	f.goTo("drop")
	return 14
}

func (f *assembly) add(i bpf.Instruction) { f.code = append(f.code, i) }
func (f *assembly) label(name string)     { f.labels[name] = len(f.code) }

func (f *assembly) goTo(label string) { f.jump(bpf.Jump{}, label) }

func (f *assembly) goIf(label string, values ...uint16) {
	for _, v := range values {
		f.jump(bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(v)}, label)
	}
}

func (f *assembly) jump(i bpf.Instruction, label string) {
	if f.jumps == nil {
		f.jumps = map[int]string{}
	}
	f.jumps[len(f.code)] = label
	f.add(i)
}

func (f *assembly) assemble() ([]bpf.RawInstruction, error) {
	for i, label := range f.jumps {
		skip := f.labels[label] - i - 1
		switch j := f.code[i].(type) {
		case bpf.Jump:
			f.code[i] = bpf.Jump{Skip: uint32(skip)}
		case bpf.JumpIf:
			j.SkipTrue = uint8(skip)
			f.code[i] = j
		}
	}
	return bpf.Assemble(f.code)
}
