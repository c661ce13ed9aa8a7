package packet

import (
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// tshark is the oracle: it reads a capture file and returns the asked fields
// of every packet the display filter passes.
func tshark(t testing.TB, file, filter string, fields ...string) [][]string {
	t.Helper()
	path, err := exec.LookPath("tshark")
	if err != nil {
		lacking(t, "tshark (apt-get install tshark)")
	}
	args := []string{"-n", "-r", file, "-Y", filter, "-T", "fields", "-E", "separator=|", "-o",
		"tcp.relative_sequence_numbers:FALSE"}
	for i, f := range fields {
		if f == "-o" { // what follows are tshark's own options
			args = append(args, fields[i:]...)
			break
		}
		args = append(args, "-e", f)
	}
	var stderr strings.Builder
	cmd := exec.Command(path, args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("tshark: %v\n%s", err, stderr.String())
	}
	var rows [][]string
	for line := range strings.Lines(string(out)) {
		rows = append(rows, strings.Split(strings.TrimRight(line, "\n"), "|"))
	}
	return rows
}

// epoch parses tshark's frame.time_epoch, nine digits of fraction.
func epoch(t testing.TB, s string) time.Duration {
	t.Helper()
	sec, frac, _ := strings.Cut(s, ".")
	return time.Duration(number(t, sec))*time.Second + time.Duration(number(t, (frac + "000000000")[:9]))
}

func number(t testing.TB, s string) int64 {
	t.Helper()
	hex, isHex := strings.CutPrefix(s, "0x")
	base := 10
	if isHex {
		base = 16
	}
	n, err := strconv.ParseInt(hex, base, 64)
	if err != nil {
		t.Fatalf("tshark said %q where a number was expected", s)
	}
	return n
}

// A stream is what tshark's rows say of one TCP connection.
type stream struct {
	client                  string // port
	start, lastACK, data    time.Duration
	packets, bytes, retrans int64
	sent                    []sentData // by the server, not yet acknowledged
}

// sentData are new bytes of the server.
type sentData struct {
	end uint32
	at  time.Duration
}

// tcpStreams computes our definitions from tshark's fields, by connection in
// the order of tshark's own numbering.
func tcpStreams(t testing.TB, file string) []stream {
	rows := tshark(t, file, "tcp", "tcp.stream", "frame.time_epoch", "frame.len", "tcp.srcport", "tcp.flags", "tcp.len",
		"tcp.analysis.retransmission", "tcp.analysis.fast_retransmission", "tcp.analysis.spurious_retransmission",
		"tcp.analysis.keep_alive", "tcp.analysis.zero_window_probe", "tcp.seq_raw", "tcp.ack_raw")
	var out []stream
	for _, r := range rows {
		i, at, flags := int(number(t, r[0])), epoch(t, r[1]), number(t, r[4])
		for len(out) <= i {
			out = append(out, stream{})
		}
		s := &out[i]
		if s.packets == 0 {
			s.client, s.start = r[3], at
		}
		s.packets++
		s.bytes += number(t, r[2])
		again := r[6]+r[7]+r[8] != ""
		if again {
			s.retrans++
		}
		if r[3] == s.client && flags&ackFlag != 0 {
			s.lastACK = max(s.lastACK, at)
			acked := uint32(number(t, r[12]))
			for _, d := range s.sent {
				if int32(acked-d.end) >= 0 {
					s.data = max(s.data, d.at)
				}
			}
		}
		if r[3] != s.client && number(t, r[5]) > 0 && !again && r[9] == "" {
			s.sent = append(s.sent, sentData{uint32(number(t, r[11]) + number(t, r[5])), at})
		}
	}
	return out
}

// compareTCP fails for every connection whose figures differ from tshark's.
func compareTCP(t *testing.T, file string, c Capture) {
	t.Helper()
	want := tcpStreams(t, file)
	if len(want) != len(c.Connections) {
		t.Fatalf("got %d connections, tshark has %d", len(c.Connections), len(want))
	}
	for i, w := range want {
		x := &c.Connections[i]
		if x.NoDelay+x.NoData+x.NoBytes != "" {
			t.Errorf("connection %d (%s): refused: %s; %s; %s", i+1, x.End, x.NoDelay, x.NoData, x.NoBytes)
			continue
		}
		if x.Start != w.start || x.Delay != w.lastACK-w.start || x.DelayToData != w.data-w.start {
			t.Errorf("connection %d: start %d delay %d to data %d ns, tshark has %d %d %d", i+1, x.Start, x.Delay, x.DelayToData,
				w.start, w.lastACK-w.start, w.data-w.start)
		}
		if x.Packets() != w.packets || x.WireBytes() != w.bytes || x.Retransmissions != w.retrans {
			t.Errorf("connection %d: %d packets, %d B, %d retransmissions, tshark has %d %d %d", i+1, x.Packets(), x.WireBytes(),
				x.Retransmissions, w.packets, w.bytes, w.retrans)
		}
		if t.Failed() && i > 5 {
			t.FailNow()
		}
	}
}
