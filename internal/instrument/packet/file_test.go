package packet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"
)

func conversation(t testing.TB) *script {
	s := newScript(t)
	c, v := s.open(cliAddr, srvAddr)
	call(c, v)
	hangUp(c, v)
	return s
}

func readAll(t *testing.T, file []byte) []Packet {
	t.Helper()
	r, err := NewReader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	var out []Packet
	for {
		var p Packet
		err := r.Next(&p)
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		p.Data = bytes.Clone(p.Data)
		out = append(out, p)
	}
}

func samePackets(t *testing.T, name string, got, want []Packet, unit time.Duration) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d packets, want %d", name, len(got), len(want))
	}
	for i := range want {
		g, w := got[i], want[i]
		if g.At != w.At.Truncate(unit) || !bytes.Equal(g.Data, w.Data) || g.Length != w.Length || g.Link != w.Link ||
			g.Way != w.Way {
			t.Errorf("%s: packet %d: got %+v, want %+v", name, i+1, g, w)
		}
	}
}

func TestClassicFormats(t *testing.T) {
	s := conversation(t)
	for _, big := range []bool{false, true} {
		samePackets(t, "µs", readAll(t, s.classic(big, false)), s.pkts, time.Microsecond)
		samePackets(t, "ns", readAll(t, s.classic(big, true)), s.pkts, time.Nanosecond)
	}
}

// TestWriterAgainstAnotherReader: pcapgo reads what Writer wrote.
func TestWriterAgainstAnotherReader(t *testing.T) {
	s := conversation(t)
	s.pkts[2].Way, s.pkts[3].Way = Inbound, Outbound
	s.pkts[4].Data = s.pkts[4].Data[:55]
	file := s.file()
	samePackets(t, "own", readAll(t, file), s.pkts, 1)
	r, err := pcapgo.NewNgReader(bytes.NewReader(file), pcapgo.DefaultNgReaderOptions)
	if err != nil {
		t.Fatal(err)
	}
	for i, w := range s.pkts {
		data, ci, err := r.ReadPacketData()
		if err != nil || ci.Timestamp.UnixNano() != int64(w.At) || !bytes.Equal(data, w.Data) || ci.Length != w.Length {
			t.Errorf("packet %d: %v %v %x, want %+v", i+1, err, ci, data, w)
		}
	}
	if _, _, err := r.ReadPacketData(); err != io.EOF {
		t.Errorf("after the last: %v", err)
	}
}

// TestReaderAgainstAnotherWriter: Reader reads what pcapgo wrote.
func TestReaderAgainstAnotherWriter(t *testing.T) {
	s := conversation(t)
	var b bytes.Buffer
	w, err := pcapgo.NewNgWriter(&b, layers.LinkTypeEthernet)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range s.pkts {
		ci := gopacket.CaptureInfo{Timestamp: time.Unix(0, int64(p.At)), CaptureLength: len(p.Data), Length: p.Length}
		if err := w.WritePacket(ci, p.Data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.WriteInterfaceStats(0, pcapgo.NgInterfaceStatistics{LastUpdate: time.Unix(1, 0), PacketsReceived: 12,
		PacketsDropped: 3}); err != nil {
		t.Fatal(err)
	}
	w.Flush()
	samePackets(t, "pcapgo", readAll(t, b.Bytes()), s.pkts, 1)
	c, err := Analyze(&b)
	if err != nil || c.Dropped != 3 || len(c.Problems) != 1 || c.Connections[0].NoDelay == "" {
		t.Errorf("3 packets lost: %v, dropped %d, problems %q", err, c.Dropped, c.Problems)
	}
}

// bigEndian writes the packets as a big-endian pcapng section whose stamps
// count steps of the resolution after an offset in seconds.
func bigEndian(pkts []Packet, resolution byte, offset int64, step func(time.Duration) uint64) []byte {
	be := binary.BigEndian
	block := func(typ uint32, body []byte) []byte {
		body = append(body, make([]byte, -len(body)&3)...)
		b := be.AppendUint32(nil, typ)
		b = be.AppendUint32(b, uint32(12+len(body)))
		b = append(b, body...)
		return be.AppendUint32(b, uint32(12+len(body)))
	}
	out := block(blockSection, append(be.AppendUint32(nil, byteOrderMagic), 0, 1, 0, 0, 255, 255, 255, 255, 255,
		255, 255, 255))
	idb := []byte{0, 1, 0, 0, 0, 0, 0, 0, 0, optResolution, 0, 1, resolution, 0, 0, 0, 0, optOffset, 0, 8}
	out = append(out, block(blockInterface, be.AppendUint64(idb, uint64(offset)))...)
	out = append(out, block(0x80000bad, []byte("a block of a kind nobody knows"))...)
	for _, p := range pkts {
		b := be.AppendUint32(nil, 0)
		b = be.AppendUint64(b, step(p.At-time.Duration(offset)*time.Second))
		b = be.AppendUint32(b, uint32(len(p.Data)))
		b = be.AppendUint32(b, uint32(p.Length))
		out = append(out, block(blockEnhanced, append(b, p.Data...))...)
	}
	return out
}

func TestTimeResolutions(t *testing.T) {
	s := conversation(t)
	for _, c := range []struct {
		name       string
		resolution byte
		offset     int64
		step       func(time.Duration) uint64
		unit       time.Duration
	}{
		{"seconds", 0, 0, func(d time.Duration) uint64 { return uint64(d / time.Second) }, time.Second},
		{"µs", 6, 0, func(d time.Duration) uint64 { return uint64(d / 1000) }, 1000},
		{"ns with an offset", 9, 1_600_000_000, func(d time.Duration) uint64 { return uint64(d) }, 1},
		{"0.1 ns", 10, 0, func(d time.Duration) uint64 { return uint64(d) * 10 }, 1},
	} {
		samePackets(t, c.name, readAll(t, bigEndian(s.pkts, c.resolution, c.offset, c.step)), s.pkts, c.unit)
	}
	for _, c := range []struct {
		i    ngInterface
		in   uint64
		want time.Duration
		ok   bool
	}{
		{ngInterface{resolution: 0x80 | 10}, 1<<10 + 512, 1500 * time.Millisecond, true},   // 2^-10 s
		{ngInterface{resolution: 0x80 | 63}, 1<<63 | 1<<62, 1500 * time.Millisecond, true}, // 2^-63 s
		{ngInterface{resolution: 0x80}, 7, 7 * time.Second, true},                          // 2^0 s
		{ngInterface{resolution: 19}, 15_000_000_000_000_000_000, 1500 * time.Millisecond, true},
		{ngInterface{resolution: 9, offset: -3}, 5e9 + 1, 2*time.Second + 1, true},
		{ngInterface{resolution: 9, offset: -6}, 5e9, 0, false}, // before 1970
		{ngInterface{resolution: 20}, 1, 0, false},
		{ngInterface{resolution: 0xff}, 1, 0, false},
		{ngInterface{resolution: 6}, math.MaxUint64, 0, false}, // beyond 2262
		{ngInterface{resolution: 9, offset: math.MaxInt64}, 1, 0, false},
		{ngInterface{resolution: 9, offset: math.MinInt64}, 1, 0, false},
	} {
		if got, ok := c.i.stamp(c.in); ok != c.ok || ok && got != c.want {
			t.Errorf("%+v: %d: got %v, %v, want %v, %v", c.i, c.in, got, ok, c.want, c.ok)
		}
	}
}

func TestLinkTypes(t *testing.T) {
	for _, c := range []struct {
		link   LinkType
		header []byte
		client string
	}{
		{LinkRaw, nil, "4"},
		{LinkIPv4, nil, "4"},
		{LinkNull, []byte{2, 0, 0, 0}, "4"},
		{LinkLoop, []byte{0, 0, 0, 2}, "4"},
		{LinkSLL, []byte{0, 0, 0, 1, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0, 8, 0}, "4"},
		{LinkSLL2, []byte{8, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0}, "4"},
		{LinkRaw, nil, "6"},
		{LinkNull, []byte{0, 0, 0, 30}, "6"}, // macOS, big-endian
		{LinkSLL, []byte{0, 0, 0, 1, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0, 0x86, 0xdd}, "6"},
	} {
		s := newScript(t)
		from, to := cliAddr, srvAddr
		if c.client == "6" {
			from, to = cliAddr6, srvAddr6
		}
		cl, sv := s.open(from, to)
		call(cl, sv)
		hangUp(cl, sv)
		s.relink(c.link, c.header)
		got := s.analyze(Options{})
		if x := first(t, got); x.NoDelay != "" || x.Delay != 8*ms || x.NoBytes != "" {
			t.Errorf("link type %d, IPv%s: got %+v", c.link, c.client, x)
		}
		s.agrees(t, got)
	}
	s := conversation(t)
	s.relink(147, nil)
	if c := s.analyze(Options{}); c.Malformed != 9 || len(c.Problems) == 0 {
		t.Errorf("an unknown link type: got %+v", c)
	}
}

func TestRefusedFiles(t *testing.T) {
	whole := conversation(t).file()
	simple := bytes.Clone(whole)
	at := bytes.Index(simple, []byte{blockEnhanced, 0, 0, 0})
	simple[at] = blockSimple
	tail := bytes.Clone(whole)
	tail[len(tail)-2] ^= 1
	for _, c := range []struct {
		name  string
		file  []byte
		is    error
		words string
	}{
		{"empty", nil, ErrEmpty, "empty"},
		{"text", []byte("hello world"), ErrFormat, "68656c6c"},
		{"gzip", []byte{0x1f, 0x8b, 8, 0}, nil, "gunzip"},
		{"simple packets", simple, ErrCorrupt, "no timestamp"},
		{"lengths differ", tail, ErrCorrupt, "ends with"},
		{"byte order", whole[:9], ErrTruncated, ""},
		{"huge block", append(bytes.Clone(whole), 6, 0, 0, 0, 0, 0, 0, 0x7f), ErrCorrupt, "block of"},
		{"packet before interface", append(bytes.Clone(whole[:40]), 0), nil, ""},
	} {
		_, err := Analyze(bytes.NewReader(c.file))
		if err == nil || c.is != nil && !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: got %v, want %v with %q", c.name, err, c.is, c.words)
		}
	}
}

// Two interfaces that saw the same packets are not two packets.
func TestTwoInterfaces(t *testing.T) {
	a := NewAnalyzer(Options{})
	for _, p := range conversation(t).pkts {
		a.Add(p)
		p.Interface, p.At = 1, p.At+500
		a.Add(p)
	}
	if x := a.Capture().Connections[0]; !strings.Contains(x.NoDelay, "more than one interface") || x.NoBytes == "" {
		t.Errorf("got %+v", x)
	}
}

// A stalledDisk takes nothing until it is let go, then fails.
type stalledDisk struct {
	hold chan struct{}
	fail error
	got  int
}

func (d *stalledDisk) Write(b []byte) (int, error) {
	<-d.hold
	d.got += len(b)
	return len(b), d.fail
}

// TestStalledDisk: the writer goes on while the disk stands still, loses
// nothing, and says so if it was full.
func TestStalledDisk(t *testing.T) {
	for _, fail := range []error{nil, errors.New("disk full")} {
		d := &stalledDisk{hold: make(chan struct{}), fail: fail}
		w := NewWriter(d, Description{Interface: "x", Link: LinkEthernet})
		p := Packet{Data: make([]byte, 1000), Length: 1000}
		for range 20_000 { // 20 MB
			if err := w.Write(p); err != nil {
				t.Fatal(err)
			}
		}
		close(d.hold)
		err := w.Close(CaptureStats{})
		if !errors.Is(err, fail) || fail == nil && d.got < 20_000*1032 {
			t.Errorf("got %d B, %v, want %v", d.got, err, fail)
		}
	}
}
