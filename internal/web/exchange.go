package web

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"edgegauge.example/edgegauge/internal/lab"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/plural"
	"edgegauge.example/edgegauge/internal/report"
	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/study"
)

type exchangeView struct {
	Frame
	Shown, Name  string
	Trial        int
	Seq          uint64
	TrialPath    string
	Before, Next string // pages of the exchanges beside; empty: none
	Sides        []exchangeSide
	Unpaired     string // why the server's record is not shown
	Packets      []packetRow
	PacketsSay   string
	Download     *fileLink
	Traces       []traceView
	PowerSays    string // of the power at the client's phases, or why it is not there
}

// An exchangeSide is one side's record of a request, by its own clock.
type exchangeSide struct {
	Side     measure.Side
	Bench    string // of the client, where several benches drove the server; else empty
	Failure  string
	Picture  *report.Picture
	Figures  [][2]string
	Recorded string
	bars     []report.Bar // of the picture
	zero     float64      // its axis begins so long after the client's run, in s
}

// goToExchange leads from the form of a trial's page to a request.
func (s *Server) goToExchange(w http.ResponseWriter, r *http.Request) {
	seq, err := strconv.ParseUint(r.URL.Query().Get("seq"), 10, 63)
	if err != nil {
		seq = 1
	}
	http.Redirect(w, r, fmt.Sprintf("%d/", seq), http.StatusSeeOther)
}

func (s *Server) exchange(r *http.Request) (string, any, error) {
	t, err := s.trialOf(r)
	if err != nil {
		return "", nil, err
	}
	defer t.close()
	seq, err := strconv.ParseUint(r.PathValue("seq"), 10, 63)
	if err != nil || seq == 0 {
		return "", nil, notFound("Requests are numbered from 1.")
	}
	x, err := t.kept.Exchange(t.state.ID, measure.Client, seq)
	if errors.Is(err, store.ErrNoData) {
		return "", nil, notFound("Trial %d has no request %d at the client.", t.state.ID, seq)
	}
	if err != nil {
		return "", nil, unreadable(err)
	}
	v := exchangeView{Frame: s.frame(r, fmt.Sprintf("Request %d of trial %d", seq, t.state.ID)), Shown: t.shown(),
		Name: t.name(), Trial: t.state.ID, Seq: seq, TrialPath: t.page(), Sides: []exchangeSide{atClient(x)}}
	if j, err := t.kept.Joint(store.AttemptID{Trial: t.state.ID, Attempt: t.state.Attempt}); err == nil {
		v.Sides[0].Bench = j.Of(seq)
	}
	v.Trail = t.trail()
	if seq > 1 && !s.static {
		v.Before = fmt.Sprintf("%sx/%d/", t.page(), seq-1)
	}
	if _, err := t.kept.Exchange(t.state.ID, measure.Client, seq+1); err == nil && !s.static {
		v.Next = fmt.Sprintf("%sx/%d/", t.page(), seq+1)
	}
	if y, why := t.serversRecord(seq); why == "" {
		v.Sides = append(v.Sides, atServer(y))
	} else {
		v.Unpaired = why
	}
	v.Packets, v.PacketsSay, v.Download = t.packets(seq)
	traces, err := t.ReadTracesOf(t.kept, t.state)
	if err == nil {
		v.PowerSays, err = t.powerUnder(&v.Sides[0], traces)
	}
	if err != nil {
		v.PowerSays = fmt.Sprintf("Power: %v", err)
	}
	for _, p := range traces {
		v.Traces = append(v.Traces, traceView{p.Picture(t.Report)})
	}
	return "exchange", v, nil
}

// severalAtOnce tells whether more than one request may be under way.
func severalAtOnce(s *study.Setup) bool {
	return s.Concurrency > 1 || s.Population.Devices > 1 || s.Joint()
}

// serversRecord is the server's record of a client's request. Requests are numbered by
// each side in its own order, so only of one under way at a time both mean the same.
func (t *trialAt) serversRecord(seq uint64) (x measure.Exchange, why string) {
	if t.treatment >= 0 && severalAtOnce(t.Treatments[t.treatment].Setup()) {
		return x, "Several requests were in flight at once. The server may have recorded them in another order, so its " +
			"record of this request is unknown. The trial's page shows its distributions."
	}
	x, err := t.kept.Exchange(t.state.ID, measure.Server, seq)
	switch {
	case errors.Is(err, store.ErrNoData):
		return x, "The server left no record of this request."
	case err != nil:
		return x, err.Error()
	}
	return x, ""
}

// atClient places the phases of a request on the client's clock: sent and done are
// instants that it recorded, the others are lengths, which lie where their order puts them.
func atClient(x measure.Exchange) exchangeSide {
	v := exchangeSide{Side: measure.Client, Failure: x.Failure, Figures: figures(x, measure.Client),
		Recorded: "Due, sent and done are times that the client recorded. The other phases are durations, drawn in " +
			"their order."}
	zero := min(x.Due, x.Sent-x.Connection-x.Serialization)
	var bars []report.Bar
	add := func(name string, from, to time.Duration, class string) {
		if to > from {
			bars = append(bars, report.Bar{Name: name, From: (from - zero).Seconds(), To: (to - zero).Seconds(), Class: class})
		}
	}
	began := x.Sent - x.Connection - x.Serialization
	add("due, not yet begun", x.Due, began, "fig-idle")
	add("serialization", began, began+x.Serialization, "fig-phase")
	add("connection", x.Sent-x.Connection, x.Sent, "fig-phase")
	add(phaseName("rtt"), x.Sent, x.Done, "fig-phase")
	add("deserialization", x.Done, x.Done+x.Deserialization, "fig-phase")
	v.bars, v.zero = bars, zero.Seconds()
	if len(bars) > 0 {
		p := report.Waterfall("client", clientPhases, bars)
		v.Picture = &p
	}
	return v
}

// clientPhases is what a request's phases at the client are called.
const clientPhases = "The request at the client, by the client's clock"

// atServer places the server's phases on the server's clock: all are lengths.
func atServer(x measure.Exchange) exchangeSide {
	v := exchangeSide{Side: measure.Server, Failure: x.Failure, Figures: figures(x, measure.Server),
		Recorded: "The server records durations, drawn in their order. Its clock is not the client's, so their " +
			"position on the client's axis is unknown."}
	var bars []report.Bar
	at := time.Duration(0)
	for _, p := range []struct {
		name string
		long time.Duration
	}{{"deserialization", x.Deserialization}, {"processing", x.Processing}, {"serialization", x.Serialization}} {
		if p.long > 0 {
			bars = append(bars, report.Bar{Name: p.name, From: at.Seconds(), To: (at + p.long).Seconds(), Class: "fig-phase"})
			at += p.long
		}
	}
	if x.Total > 0 {
		bars = append(bars, report.Bar{Name: "total", From: 0, To: x.Total.Seconds(), Class: "fig-whole"})
	}
	if len(bars) > 0 {
		p := report.Waterfall("server", "The request at the server, by the server's clock", bars)
		v.Picture = &p
	}
	return v
}

// figures are all that a side recorded of a request.
func figures(x measure.Exchange, side measure.Side) [][2]string {
	var out [][2]string
	for i := range measure.Fields {
		f := &measure.Fields[i]
		value, seen := f.Value(&x), f.Summarized(side)
		if f.Kept() {
			p := f.Presence(side)
			seen = p == measure.Always || p == measure.Nonzero && value != 0
		}
		if !seen {
			continue
		}
		name, unit, scale := f.Name, "s", 1e-9
		if f.Response.Name != "" {
			name, unit, scale = report.Words(f.Response.Name), f.Response.Unit, f.Scale()
		} else {
			name = report.Words(name) + ", since the recorded run began"
		}
		out = append(out, [2]string{name, report.Format(float64(value)*scale, unit)})
	}
	return out
}

// A packetRow is a packet of a request.
type packetRow struct {
	Number    int // in the capture, from 1
	At, Since string
	Out       bool // from the client
	Protocol  string
	Flags     string
	Payload   int
	Length    int
	From, To  string
	Hex       string
	Cut       bool // more bytes than are shown
}

// packets are those of a client's request, or why they are not known.
func (t *trialAt) packets(seq uint64) (rows []packetRow, says string, download *fileLink) {
	links, err := t.captures()
	if err != nil || len(links) == 0 {
		return nil, "No packets were stored. To store them, write packets: keep in the study.", nil
	}
	download = &links[0]
	if t.treatment < 0 {
		return nil, "The study does not have this trial's treatment.", download
	}
	setup := t.Treatments[t.treatment].Setup()
	if why := lab.Overlaps(setup); why != "" {
		return nil, "The packets of this request cannot be distinguished from those of others: " + why + ".", download
	}
	noted, err := t.kept.Quality(t.state.ID, t.state.Attempt)
	if err != nil {
		return nil, err.Error(), download
	}
	for _, q := range noted { // such a request has packets twice, and those after it would be taken for the next one's
		if q.Key == "repetitions" && q.Value > 0 {
			return nil, fmt.Sprintf("The client sent %s a second time, over another connection, so packets cannot be assigned "+
				"to requests.", plural.Count(int(q.Value), "request")), download
		}
	}
	c, err := t.columns(measure.Client)
	if err != nil {
		return nil, err.Error(), download
	}
	count := c.Rows()
	c.Close()
	found, err := t.callIn(links[0].Name, lab.OnWire(setup, t.scheme()), count, seq)
	if err != nil {
		return nil, err.Error(), download
	}
	for _, x := range found.packets {
		row := packetRow{Number: x.number, At: report.Format(x.since.Seconds(), "s"), Out: x.d.From == found.call.Client,
			Protocol: x.d.Protocol, Flags: x.d.Flags, Payload: x.d.Payload, Length: x.length, From: x.d.From.String(),
			To: x.d.To.String(), Since: report.Format(x.gap.Seconds(), "s"), Cut: x.d.Payload > len(x.data)}
		if len(x.data) > 0 {
			row.Hex = hex.Dump(x.data)
		}
		rows = append(rows, row)
	}
	says = fmt.Sprintf("%s, %d B on the wire, from %s to %s. Times are the capturing machine's, since the first "+
		"of them.", plural.Count(len(rows), "packet"), found.bytes, found.call.Client, found.call.Server)
	if found.more {
		says += fmt.Sprintf(" Only the first %d are shown.", mostPackets)
	}
	return rows, says, download
}
