package stack

import (
	"encoding/json"
	"fmt"
	"time"

	"edgegauge/internal/measure"
)

// exchangeLine is one record as a program prints it.
type exchangeLine struct {
	Type            string `json:"type"`
	Seq             uint64 `json:"seq"`
	Due             int64  `json:"due"`
	Sent            int64  `json:"sent"`
	Done            int64  `json:"done"`
	Serialization   int64  `json:"serialization"`
	Processing      int64  `json:"processing"`
	Sensor          int64  `json:"sensor"`
	Connection      int64  `json:"connection"`
	Deserialization int64  `json:"deserialization"`
	Total           int64  `json:"total"`
	In              int64  `json:"in"`
	Out             int64  `json:"out"`
	Failure         string `json:"failure"`
}

func (l *exchangeLine) exchange() measure.Exchange {
	return measure.Exchange{
		Seq: l.Seq, Due: time.Duration(l.Due), Sent: time.Duration(l.Sent), Done: time.Duration(l.Done),
		Serialization: time.Duration(l.Serialization), Processing: time.Duration(l.Processing), Sensor: time.Duration(l.Sensor), Connection: time.Duration(l.Connection),
		Deserialization: time.Duration(l.Deserialization), Total: time.Duration(l.Total),
		In: l.In, Out: l.Out, Failure: l.Failure,
	}
}

// AppendExchange prints x as one line of the protocol.
func AppendExchange(b []byte, x measure.Exchange) []byte {
	b = append(b, `{"type":"exchange","seq":`...)
	b = appendUint(b, x.Seq)
	for _, f := range [...]struct {
		name string
		v    int64
	}{
		{"due", int64(x.Due)}, {"sent", int64(x.Sent)}, {"done", int64(x.Done)},
		{"serialization", int64(x.Serialization)}, {"processing", int64(x.Processing)}, {"sensor", int64(x.Sensor)},
		{"deserialization", int64(x.Deserialization)}, {"total", int64(x.Total)}, {"in", x.In}, {"out", x.Out},
	} {
		b = append(b, `,"`...)
		b = append(b, f.name...)
		b = append(b, `":`...)
		b = appendInt(b, f.v)
	}
	if x.Connection != 0 {
		b = appendInt(append(b, `,"connection":`...), int64(x.Connection))
	}
	if x.Failure != "" {
		b = append(b, `,"failure":`...)
		text, _ := json.Marshal(x.Failure) // a string never fails
		b = append(b, text...)
	}
	return append(b, "}\n"...)
}

// parseExchange reads a record. The plain form, integers only, is read here: a
// trial has hundreds of thousands of them and encoding/json takes 3 µs each.
func parseExchange(line []byte) (measure.Exchange, error) {
	if x, ok := plainExchange(line); ok {
		return x, nil
	}
	var l exchangeLine
	if err := json.Unmarshal(line, &l); err != nil || l.Type != "exchange" {
		return measure.Exchange{}, fmt.Errorf("%w: %q", errNotProtocol, clip(line))
	}
	return l.exchange(), nil
}

const plainStart = `{"type":"exchange","`

func plainExchange(b []byte) (measure.Exchange, bool) {
	var x measure.Exchange
	if len(b) < len(plainStart) || string(b[:len(plainStart)]) != plainStart {
		return x, false
	}
	b = b[len(plainStart):]
	seen := 0
	for {
		i := 0
		for i < len(b) && b[i] >= 'a' && b[i] <= 'z' {
			i++
		}
		if i+2 > len(b) || b[i] != '"' || b[i+1] != ':' {
			return x, false
		}
		name, rest := b[:i], b[i+2:]
		v, n := integer(rest)
		if n == 0 || n == len(rest) {
			return x, false
		}
		bit := assign(&x, string(name), v)
		if bit == 0 || seen&bit != 0 {
			return x, false
		}
		seen |= bit
		switch b = rest[n:]; {
		case len(b) == 1 && b[0] == '}':
			return x, true
		case len(b) > 2 && b[0] == ',' && b[1] == '"':
			b = b[2:]
		default:
			return x, false
		}
	}
}

// integer reads a non-negative or negative JSON integer of at most 18 digits;
// n is its length, 0 if there is none.
func integer(b []byte) (v int64, n int) {
	i := 0
	if i < len(b) && b[i] == '-' {
		i++
	}
	first := i
	for i < len(b) && b[i] >= '0' && b[i] <= '9' {
		v = v*10 + int64(b[i]-'0')
		i++
	}
	if i == first || i-first > 18 || (b[first] == '0' && i-first > 1) {
		return 0, 0
	}
	if first == 1 {
		v = -v
	}
	return v, i
}

// assign sets the named field and returns its bit, or 0 if there is no such field.
func assign(x *measure.Exchange, name string, v int64) int {
	d := time.Duration(v)
	switch name {
	case "seq":
		if v < 0 {
			return 0
		}
		x.Seq = uint64(v)
		return 1
	case "due":
		x.Due = d
		return 2
	case "sent":
		x.Sent = d
		return 4
	case "done":
		x.Done = d
		return 8
	case "serialization":
		x.Serialization = d
		return 16
	case "processing":
		x.Processing = d
		return 32
	case "deserialization":
		x.Deserialization = d
		return 64
	case "total":
		x.Total = d
		return 128
	case "in":
		x.In = v
		return 256
	case "out":
		x.Out = v
		return 512
	case "sensor":
		x.Sensor = d
		return 1024
	case "connection":
		x.Connection = d
		return 2048
	}
	return 0
}
