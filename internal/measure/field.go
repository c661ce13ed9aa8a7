package measure

import (
	"cmp"
	"slices"
	"unsafe"
)

// A Presence says when a side's record has a field.
type Presence int

const (
	Never   Presence = iota // this side cannot see it: null in files
	Nonzero                 // 0 means "not seen" and is null in files
	Always                  // every exchange has it, and 0 is a value
)

// A Field is one figure of an Exchange. This row is all that a new one needs:
// the adapter protocol, the files of exchanges, the trial table and the
// distributions of a report all read Fields.
//
// A field is either kept in the record (At says where: at the same place in each) or the time between two that are.
type Field struct {
	Name           string   // in the adapter protocol; what store.Columns calls it
	Column         string   // in exchanges/*.parquet; with its unit, ns or B
	Client, Server Presence // of a field that is kept
	At             func(*Exchange) *int64
	// To and From name the fields that Between is the time between.
	To, From string
	Between  func(*Exchange) int64
	// Response is the response variable that it gives: summarized for each
	// trial, with a distribution over all requests. No name: kept, not summarized.
	Response Response
	Place    int // of Response in a report, from 1
}

// Fields lists the figures of an exchange in the order of the file's columns.
// Nothing but a test changes it.
var Fields = []Field{
	{Name: "due", Column: "due_ns", Client: Always, At: func(x *Exchange) *int64 { return (*int64)(&x.Due) }},
	{Name: "sent", Column: "sent_ns", Client: Always, At: func(x *Exchange) *int64 { return (*int64)(&x.Sent) }},
	{Name: "done", Column: "done_ns", Client: Nonzero, Server: Nonzero,
		At: func(x *Exchange) *int64 { return (*int64)(&x.Done) }},
	{Name: "connection", Column: "connection_ns", Client: Nonzero, Server: Nonzero,
		At: func(x *Exchange) *int64 { return (*int64)(&x.Connection) }, Place: 7,
		Response: Response{Quantity{"connection", "s"}, atClient,
			"opening a connection, checking that a kept one is still open, or waiting until a shared one takes another " +
				"request, before the request is sent: in total_time, not in rtt",
			false}},
	{Name: "serialization", Column: "serialization_ns", Client: Always, Server: Always,
		At: func(x *Exchange) *int64 { return (*int64)(&x.Serialization) }, Place: 3,
		Response: Response{Quantity{"serialization", "s"}, atBoth, "object to bytes, inside the stack, I/O excluded", false}},
	{Name: "processing", Column: "processing_ns", Client: Nonzero, Server: Always,
		At: func(x *Exchange) *int64 { return (*int64)(&x.Processing) }, Place: 5,
		Response: Response{Quantity{"processing", "s"}, atServer, "the service's own work", false}},
	{Name: "sensor", Column: "sensor_ns", Client: Nonzero, Server: Nonzero,
		At: func(x *Exchange) *int64 { return (*int64)(&x.Sensor) }, Place: 6,
		Response: Response{Quantity{"sensor_time", "s"}, atServer,
			"the part of processing spent on the sensor, including waiting for other readers", false}},
	{Name: "deserialization", Column: "deserialization_ns", Client: Always, Server: Always,
		At: func(x *Exchange) *int64 { return (*int64)(&x.Deserialization) }, Place: 4,
		Response: Response{Quantity{"deserialization", "s"}, atBoth,
			"bytes to object, inside the stack, I/O excluded", false}},
	{Name: "total", Column: "total_ns", Client: Always, Server: Always,
		At: func(x *Exchange) *int64 { return (*int64)(&x.Total) }, Place: 8,
		Response: Response{Quantity{"total_time", "s"}, atBoth,
			"client: before serialization to after deserialization, opening a connection included, closing it and " +
				"checking the answer not; server: complete request received to response handed on",
			false}},
	{Name: "out", Column: "out_B", Client: Always, Server: Always,
		At: func(x *Exchange) *int64 { return &x.Out }, Place: 9,
		Response: Response{Quantity{"message_size", "B"}, atClient, "body of the request", false}},
	{Name: "in", Column: "in_B", Client: Always, Server: Always, At: func(x *Exchange) *int64 { return &x.In }, Place: 10,
		Response: Response{Quantity{"response_size", "B"}, atClient, "body of the response", false}},
	{Name: "rtt", To: "done", From: "sent", Between: func(x *Exchange) int64 { return int64(x.RTT()) }, Place: 1,
		Response: Response{Quantity{"rtt", "s"}, atClient,
			"first byte of the request sent to last byte of the response received", false}},
	{Name: "response", To: "done", From: "due", Between: func(x *Exchange) int64 { return int64(x.Response()) }, Place: 2,
		Response: Response{Quantity{"response_time", "s"}, atClient, "as RTT, but from the instant the request was due",
			false}},
}

// Kept tells whether records and files hold the field itself.
func (f *Field) Kept() bool { return f.At != nil }

// Presence says when that side's record has the field.
func (f *Field) Presence(side Side) Presence {
	if side == Client {
		return f.Client
	}
	return f.Server
}

// Optional tells whether a record may lack the field: its column has nulls.
func (f *Field) Optional() bool { return f.Client != Always || f.Server != Always }

// Rare tells whether most records of both sides lack it: a stack that does not
// say it sends nothing.
func (f *Field) Rare() bool { return f.Client == Nonzero && f.Server == Nonzero }

// Summarized tells whether it is a response variable of that side.
func (f *Field) Summarized(side Side) bool { return slices.Contains(f.Response.Sides, side) }

// Scale is what a stored number (ns or B) is multiplied by to be in the
// response's unit.
func (f *Field) Scale() float64 {
	if f.Response.Unit == "s" {
		return 1e-9
	}
	return 1
}

// Value is the field in ns or B.
func (f *Field) Value(x *Exchange) int64 {
	if f.Kept() {
		return *f.At(x)
	}
	return f.Between(x)
}

// Take sets to to the field, in ns or B, of each of those exchanges, as many. The field is kept.
//
// Subtle: At is called once, since a call for each value costs more than the value.
func (f *Field) Take(to []int64, of []Exchange) {
	if len(of) == 0 {
		return
	}
	to = to[:len(of)]
	at := f.At(&of[0])
	place := uintptr(unsafe.Pointer(at)) - uintptr(unsafe.Pointer(&of[0]))
	if place > unsafe.Sizeof(of[0])-unsafe.Sizeof(*at) { // it lies elsewhere
		for i := range of {
			to[i] = *f.At(&of[i])
		}
		return
	}
	for i := range of {
		to[i] = *(*int64)(unsafe.Add(unsafe.Pointer(&of[i]), place))
	}
}

// FindField finds a field by its name.
func FindField(name string) (*Field, bool) {
	for i := range Fields {
		if Fields[i].Name == name {
			return &Fields[i], true
		}
	}
	return nil, false
}

// Summaries are the fields that are response variables of a side, in the order
// of a report.
func Summaries(side Side) []*Field {
	return summaries(func(f *Field) bool { return f.Summarized(side) })
}

func summaries(wanted func(*Field) bool) []*Field {
	all := make([]*Field, 0, len(Fields))
	for i := range Fields {
		if f := &Fields[i]; wanted(f) {
			all = append(all, f)
		}
	}
	slices.SortStableFunc(all, func(a, b *Field) int { return cmp.Compare(a.Place, b.Place) })
	return all
}

// ofExchanges are the response variables that every request has a value of.
func ofExchanges() []Response {
	all := summaries(func(f *Field) bool { return f.Response.Name != "" })
	rows := make([]Response, len(all))
	for i, f := range all {
		rows[i] = f.Response
	}
	return rows
}
