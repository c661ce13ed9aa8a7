package packet

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/netip"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// shown is how many calls of each kind WriteText lists; WriteJSON lists all.
const shown = 20

// WriteText writes the figures as a table a person reads. A figure that is
// refused is a dash, its reasons stand below the table.
func (c Capture) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%d packets, %d B, %v\n", c.Packets, c.Bytes, c.Last-c.First)
	for _, n := range []struct {
		n    int64
		what string
	}{
		{c.Other, "packets are not looked at (neither TCP nor UDP, or other ports)"},
		{c.Fragments, "fragments, refused"},
		{c.Cut, "packets cut inside a header, refused"},
		{c.Malformed, "malformed packets, refused"},
		{int64(min(c.Dropped, math.MaxInt64)), "packets lost while capturing"},
		{c.Unmatched, "answers without a request"},
		{c.Notifications, "further answers to one request"},
	} {
		if n.n > 0 {
			fmt.Fprintf(&b, "%d %s\n", n.n, n.what)
		}
	}
	for _, p := range c.Problems {
		fmt.Fprintf(&b, "not to be trusted: %s\n", p)
	}
	c.writeConnections(&b)
	c.writeExchanges(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

func (c Capture) writeConnections(b *strings.Builder) {
	if len(c.Connections) == 0 {
		return
	}
	fmt.Fprintf(b, "\nTCP connections: %d\n", len(c.Connections))
	summarize(b, c.Calls(PerConnection))
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "\n#\tclient\tserver\tend\trequests\tdelay\tto data\thandshake\twire B\tpackets\tretrans\tout of order\tkeep-alives\tzero window")
	for i, x := range c.Connections {
		if i == shown {
			fmt.Fprintf(t, "… and %d more (--json has all)\n", len(c.Connections)-shown)
			break
		}
		end := x.End
		if x.Security != "" {
			end = x.Security + ", " + end
		}
		fmt.Fprintf(t, "%d\t%v\t%v\t%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%d\t%d\t%d\n", x.Seq, x.Client, x.Server, end, len(x.Requests),
			duration(x.Delay, x.NoDelay), duration(x.DelayToData, x.NoData), duration(x.HandshakeTime, x.NoHandshake),
			count(x.WireBytes(), x.NoBytes), count(x.Packets(), x.NoBytes), count(x.Retransmissions, x.NoBytes), x.OutOfOrder, x.KeepAlives, x.ZeroWindows)
	}
	t.Flush()
	if requests := c.Calls(PerRequest); len(requests) > len(c.Connections) {
		fmt.Fprintf(b, "\nrequests on kept-alive connections: %d\n", len(requests))
		summarize(b, requests)
	}
	reasons(b, c.Calls(PerConnection))
}

func (c Capture) writeExchanges(b *strings.Builder) {
	if len(c.Exchanges) == 0 {
		return
	}
	fmt.Fprintf(b, "\nUDP exchanges: %d\n", len(c.Exchanges))
	summarize(b, c.Calls(PerExchange))
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "\n#\tclient\tserver\tprotocol\tmessage id\ttoken\tdelay\tto data\twire B\tpackets\tretrans")
	for i, x := range c.Exchanges {
		if i == shown {
			fmt.Fprintf(t, "… and %d more (--json has all)\n", len(c.Exchanges)-shown)
			break
		}
		id, token := "", ""
		if x.Protocol == "coap" {
			id, token = fmt.Sprint(x.MessageID), x.Token
		}
		fmt.Fprintf(t, "%d\t%v\t%v\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", x.Seq, x.Client, x.Server, x.Protocol, id, token,
			duration(x.Delay, x.NoDelay), duration(x.DelayToData, x.NoData), count(x.WireBytes(), x.NoBytes), count(x.Packets(), x.NoBytes), count(x.Retransmissions, x.NoBytes))
	}
	t.Flush()
	reasons(b, c.Calls(PerExchange))
}

func duration(d time.Duration, refused string) string {
	if refused != "" {
		return "-"
	}
	return fmt.Sprintf("%.3f µs", float64(d)/1e3)
}

func count(n int64, refused string) string {
	if refused != "" {
		return "-"
	}
	return fmt.Sprint(n)
}

// reasons lists why figures were refused, the commonest first.
func reasons(b *strings.Builder, calls []Call) {
	n := map[string]int{}
	for _, c := range calls {
		for _, why := range slices.Compact(slices.Sorted(slices.Values([]string{c.NoDelay, c.NoData, c.NoBytes}))) {
			if why != "" {
				n[why]++
			}
		}
	}
	keys := make([]string, 0, len(n))
	for why := range n {
		keys = append(keys, why)
	}
	slices.SortFunc(keys, func(x, y string) int {
		if n[x] != n[y] {
			return n[y] - n[x]
		}
		return strings.Compare(x, y)
	})
	for _, why := range keys {
		fmt.Fprintf(b, "refused for %d: %s\n", n[why], why)
	}
}

// summarize writes minimum, mean, standard deviation, median and maximum of
// what stands; a median of an even number is the mean of the middle two.
func summarize(b *strings.Builder, calls []Call) {
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "\tn\tmin\tmean\tsd\tmedian\tmax\tunit")
	for _, s := range summaries(calls) {
		scale, unit := 1.0, s.Unit
		if unit == "s" {
			scale, unit = 1e6, "µs"
		}
		fmt.Fprintf(t, "%s\t%d\t%.3f\t%.3f\t%s\t%.3f\t%.3f\t%s\n", s.Name, s.N, s.Min*scale, s.Mean*scale, deviation(s.SD, scale), s.Median*scale, s.Max*scale, unit)
	}
	t.Flush()
}

func deviation(sd *float64, scale float64) string {
	if sd == nil {
		return "-"
	}
	return fmt.Sprintf("%.3f", *sd*scale)
}

// A summary describes the calls of one capture, with no claim about others.
type summary struct {
	Name   string   `json:"name"`
	Unit   string   `json:"unit"`
	N      int      `json:"n"`
	Min    float64  `json:"min"`
	Mean   float64  `json:"mean"`
	SD     *float64 `json:"sd,omitempty"` // of n-1; absent for one
	Median float64  `json:"median"`
	Max    float64  `json:"max"`
}

func summaries(calls []Call) []summary {
	var out []summary
	for _, q := range Quantities() {
		var v []float64
		if q == Jitter || q == JitterRFC3550 {
			v = jitters(calls, q == JitterRFC3550)
		} else {
			for i := range calls {
				if x, refusal, _ := calls[i].figure(q); refusal == "" {
					v = append(v, x)
				}
			}
		}
		if len(v) > 0 {
			out = append(out, summarizeValues(q.Name, q.Unit, v))
		}
	}
	return out
}

// jitters returns the jitter of each call from the second on, and nothing if a
// delay is missing: its neighbours would not be successive.
func jitters(calls []Call, rfc bool) []float64 {
	var out []float64
	var est float64
	for i := range calls {
		if calls[i].NoDelay != "" {
			return nil
		}
		if i == 0 {
			continue
		}
		d := math.Abs((calls[i].Delay - calls[i-1].Delay).Seconds())
		if est += (d - est) / 16; rfc {
			d = est
		}
		out = append(out, d)
	}
	return out
}

func summarizeValues(name, unit string, v []float64) summary {
	slices.Sort(v)
	n := len(v)
	s := summary{Name: name, Unit: unit, N: n, Min: v[0], Max: v[n-1], Median: (v[(n-1)/2] + v[n/2]) / 2}
	for _, x := range v {
		s.Mean += x / float64(n)
	}
	var square float64
	for _, x := range v {
		square += (x - s.Mean) * (x - s.Mean)
	}
	if n > 1 {
		sd := math.Sqrt(square / float64(n-1))
		s.SD = &sd
	}
	return s
}

// A callJSON is a Call as WriteJSON writes it: instants in ns since 1970, so
// that no digit is lost, durations in ns, refused figures absent with their reason.
type callJSON struct {
	Seq             int               `json:"seq"`
	Client          netip.AddrPort    `json:"client"`
	Server          netip.AddrPort    `json:"server"`
	Start           int64             `json:"start_ns"`
	Delay           *int64            `json:"delay_ns,omitempty"`
	DelayToData     *int64            `json:"delay_to_data_ns,omitempty"`
	WireBytes       *int64            `json:"wire_bytes,omitempty"`
	Packets         *int64            `json:"packets,omitempty"`
	Retransmissions *int64            `json:"retransmissions,omitempty"`
	HandshakeTime   *int64            `json:"handshake_time_ns,omitempty"`
	HandshakeBytes  *int64            `json:"handshake_bytes,omitempty"`
	Out             *Traffic          `json:"out,omitempty"`
	In              *Traffic          `json:"in,omitempty"`
	Refused         map[string]string `json:"refused,omitempty"`

	End           string     `json:"end,omitempty"`
	Security      string     `json:"security,omitempty"`
	OutOfOrder    int64      `json:"out_of_order,omitempty"`
	KeepAlives    int64      `json:"keep_alives,omitempty"`
	ZeroWindows   int64      `json:"zero_windows,omitempty"`
	SuperSegments int64      `json:"super_segments,omitempty"`
	Duplicates    int64      `json:"duplicates,omitempty"`
	Partial       bool       `json:"partial,omitempty"`
	Requests      []callJSON `json:"requests,omitempty"`

	Protocol  string  `json:"protocol,omitempty"`
	MessageID *uint16 `json:"message_id,omitempty"`
	Token     string  `json:"token,omitempty"`
	Separate  bool    `json:"separate,omitempty"`
	Reset     bool    `json:"reset,omitempty"`
}

func (c *Call) json() callJSON {
	j := callJSON{Seq: c.Seq, Client: c.Client, Server: c.Server, Start: int64(c.Start), Refused: map[string]string{}}
	set := func(name, refusal string, dst **int64, v int64) {
		if refusal != "" {
			j.Refused[name] = refusal
			return
		}
		*dst = &v
	}
	set("delay", c.NoDelay, &j.Delay, int64(c.Delay))
	set("delay_to_data", c.NoData, &j.DelayToData, int64(c.DelayToData))
	set("wire_bytes", c.NoBytes, &j.WireBytes, c.WireBytes())
	set("packets", c.NoBytes, &j.Packets, c.Packets())
	set("retransmissions", c.NoBytes, &j.Retransmissions, c.Retransmissions)
	set("handshake_time", c.NoHandshake, &j.HandshakeTime, int64(c.HandshakeTime))
	set("handshake_bytes", c.NoHandshake, &j.HandshakeBytes, c.HandshakeBytes)
	if c.NoBytes == "" {
		j.Out, j.In = &c.Out, &c.In
	}
	return j
}

func (x *Connection) json() callJSON {
	j := x.Call.json()
	j.End, j.Security, j.Partial = x.End, x.Security, x.Partial
	j.OutOfOrder, j.KeepAlives, j.ZeroWindows, j.SuperSegments, j.Duplicates = x.OutOfOrder, x.KeepAlives, x.ZeroWindows, x.SuperSegments, x.Duplicates
	for i := range x.Requests {
		r := x.Requests[i].json()
		delete(r.Refused, "handshake_time")
		delete(r.Refused, "handshake_bytes")
		j.Requests = append(j.Requests, r)
	}
	return j
}

func (x *Exchange) json() callJSON {
	j := x.Call.json()
	j.Protocol, j.Token, j.Separate, j.Reset = x.Protocol, x.Token, x.Separate, x.Reset
	if x.Protocol == "coap" {
		j.MessageID = &x.MessageID
	}
	return j
}

// WriteJSON writes everything that was found, as one JSON object.
func (c Capture) WriteJSON(w io.Writer) error {
	out := struct {
		Format        int                  `json:"format"`
		Packets       int64                `json:"packets"`
		Bytes         int64                `json:"wire_bytes"`
		First         int64                `json:"first_ns"`
		Last          int64                `json:"last_ns"`
		Other         int64                `json:"other"`
		Fragments     int64                `json:"fragments"`
		Cut           int64                `json:"cut"`
		Malformed     int64                `json:"malformed"`
		Dropped       uint64               `json:"dropped"`
		Unmatched     int64                `json:"unmatched"`
		Notifications int64                `json:"notifications"`
		Problems      []string             `json:"problems"`
		Summaries     map[string][]summary `json:"summaries"`
		Connections   []callJSON           `json:"connections"`
		Exchanges     []callJSON           `json:"exchanges"`
	}{1, c.Packets, c.Bytes, int64(c.First), int64(c.Last), c.Other, c.Fragments, c.Cut, c.Malformed, c.Dropped, c.Unmatched, c.Notifications,
		append([]string{}, c.Problems...), map[string][]summary{}, []callJSON{}, []callJSON{}}
	for _, u := range []Unit{PerConnection, PerRequest, PerExchange} {
		if s := summaries(c.Calls(u)); s != nil {
			out.Summaries[string(u)] = s
		}
	}
	for i := range c.Connections {
		out.Connections = append(out.Connections, c.Connections[i].json())
	}
	for i := range c.Exchanges {
		out.Exchanges = append(out.Exchanges, c.Exchanges[i].json())
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(out)
}
