package packet

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"edgegauge.example/edgegauge/internal/plural"
)

// shown is how many calls of each kind WriteText lists; WriteJSON lists all.
const shown = 20

// WriteText writes the figures as a table a person reads. A figure that is
// refused is a dash, its reasons stand below the table.
func (c Capture) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %d B, %v\n", plural.Count(c.Packets, "packet"), c.Bytes, c.Last-c.First)
	for _, n := range []struct {
		n    int64
		what string
	}{
		{c.Other, "packets were ignored (neither TCP nor UDP, or other ports)"},
		{c.Fragments, "fragments, rejected"},
		{c.Cut, "packets truncated inside a header, rejected"},
		{c.Malformed, "malformed packets, rejected"},
		{int64(min(c.Dropped, math.MaxInt64)), "packets lost while capturing"},
		{c.Unmatched, "answers without a request"},
		{c.Notifications, "further answers to one request"},
	} {
		if n.n > 0 {
			fmt.Fprintf(&b, "%d %s\n", n.n, n.what)
		}
	}
	if c.Tick > time.Microsecond {
		fmt.Fprintf(&b, "timestamps are %v apart: no time is known better\n", c.Tick)
	}
	for _, p := range c.Problems {
		fmt.Fprintf(&b, "unreliable: %s\n", p)
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
	fmt.Fprintln(t,
		"\n#\tclient\tserver\tend\trequests\tdelay\tto data\thandshake\twire B\tpackets\tretrans\tout of "+
			"order\tkeep-alives\tzero window")
	for i, x := range c.Connections {
		if i == shown {
			fmt.Fprintf(t, "… and %d more (--json has all)\n", len(c.Connections)-shown)
			break
		}
		end := x.End
		if x.Security != "" {
			end = x.Security + ", " + end
		}
		fmt.Fprintf(t, "%d\t%v\t%v\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%d\t%d\t%d\n", x.Seq, x.Client, x.Server, end,
			count(int64(len(x.Requests)), x.NoRequests),
			duration(x.Delay, x.NoDelay), duration(x.DelayToData, cmp.Or(x.NoData, x.NoDataTime)),
			duration(x.HandshakeTime, cmp.Or(x.NoHandshake, x.NoHandshakeTime)),
			count(x.WireBytes(), x.NoBytes), count(x.Packets(), x.NoBytes), count(x.Retransmissions, x.NoBytes), x.OutOfOrder,
			x.KeepAlives, x.ZeroWindows)
	}
	t.Flush()
	if requests := c.Calls(PerRequest); len(requests) > len(c.Connections) {
		fmt.Fprintf(b, "\nrequests on kept-alive connections: %d\n", len(requests))
		summarize(b, requests)
	}
	reasons(b, c.Calls(PerConnection))
	if i := slices.IndexFunc(c.Connections, func(x Connection) bool { return x.NoRequests != "" }); i >= 0 {
		fmt.Fprintf(b, "no requests of %v: %s\n", c.Connections[i].Client, c.Connections[i].NoRequests)
	}
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
			duration(x.Delay, x.NoDelay), duration(x.DelayToData, cmp.Or(x.NoData, x.NoDataTime)),
			count(x.WireBytes(), x.NoBytes),
			count(x.Packets(), x.NoBytes), count(x.Retransmissions, cmp.Or(x.NoBytes, x.NoRetransmissions)))
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
		whys := []string{c.NoDelay, c.NoData, c.NoBytes, c.NoDataTime}
		for _, why := range slices.Compact(slices.Sorted(slices.Values(whys))) {
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
		fmt.Fprintf(b, "rejected for %d: %s\n", n[why], why)
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
		fmt.Fprintf(t, "%s\t%d\t%.3f\t%.3f\t%s\t%.3f\t%.3f\t%s\n", s.Name, s.N, s.Min*scale, s.Mean*scale,
			deviation(s.SD, scale), s.Median*scale, s.Max*scale, unit)
	}
	t.Flush()
}

func deviation(sd *float64, scale float64) string {
	if sd == nil {
		return "-"
	}
	return fmt.Sprintf("%.3f", *sd*scale)
}
