package packet

import (
	"cmp"
	"encoding/json"
	"io"
	"net/netip"
)

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
	set("delay_to_data", cmp.Or(c.NoData, c.NoDataTime), &j.DelayToData, int64(c.DelayToData))
	set("wire_bytes", c.NoBytes, &j.WireBytes, c.WireBytes())
	set("packets", c.NoBytes, &j.Packets, c.Packets())
	set("retransmissions", cmp.Or(c.NoBytes, c.NoRetransmissions), &j.Retransmissions, c.Retransmissions)
	set("handshake_time", cmp.Or(c.NoHandshake, c.NoHandshakeTime), &j.HandshakeTime, int64(c.HandshakeTime))
	set("handshake_bytes", c.NoHandshake, &j.HandshakeBytes, c.HandshakeBytes)
	if c.NoBytes == "" {
		j.Out, j.In = &c.Out, &c.In
	}
	return j
}

func (x *Connection) json() callJSON {
	j := x.Call.json()
	j.End, j.Security, j.Partial = x.End, x.Security, x.Partial
	j.OutOfOrder, j.KeepAlives, j.ZeroWindows, j.SuperSegments, j.Duplicates = x.OutOfOrder, x.KeepAlives, x.ZeroWindows,
		x.SuperSegments, x.Duplicates
	if x.NoRequests != "" {
		j.Refused["requests"] = x.NoRequests
	}
	for i := range x.Requests {
		r := x.Requests[i].json()
		delete(r.Refused, "handshake_time")
		delete(r.Refused, "handshake_bytes")
		j.Requests = append(j.Requests, r)
	}
	return j
}

func (x *UDPCall) json() callJSON {
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
		Tick          int64                `json:"tick_ns,omitempty"`
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
	}{1, c.Packets, c.Bytes, int64(c.First), int64(c.Last), int64(c.Tick), c.Other, c.Fragments, c.Cut, c.Malformed,
		c.Dropped,
		c.Unmatched, c.Notifications,
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
