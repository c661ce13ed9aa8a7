package stack

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"

	"edgegauge.example/edgegauge/internal/measure"
)

// AppendExchange prints x as one line of the protocol. What most stacks do not
// say is left out where it is 0.
func AppendExchange(b []byte, x measure.Exchange) []byte {
	b = append(b, `{"type":"exchange","seq":`...)
	b = appendUint(b, x.Seq)
	for i := range measure.Fields {
		f := &measure.Fields[i]
		if !f.Kept() {
			continue
		}
		v := f.Value(&x)
		if v == 0 && f.Rare() {
			continue
		}
		b = append(b, `,"`...)
		b = append(b, f.Name...)
		b = append(b, `":`...)
		b = appendInt(b, v)
	}
	if x.Failure != "" {
		b = append(b, `,"failure":`...)
		text, _ := json.Marshal(x.Failure) // a string never fails
		b = append(b, text...)
	}
	return append(b, "}\n"...)
}

// parseExchange reads a record into x. The plain form, integers only, is read
// here: a trial has hundreds of thousands of them and encoding/json takes 3 µs each.
func parseExchange(line []byte, x *measure.Exchange) error {
	if plainExchange(line, x) {
		return nil
	}
	return anyExchange(line, x)
}

// anyExchange reads a record in any form that JSON allows.
func anyExchange(line []byte, x *measure.Exchange) error {
	*x = measure.Exchange{}
	var record map[string]json.RawMessage
	var kind string
	if err := json.Unmarshal(line, &record); err != nil {
		return noLine(line, err)
	}
	for _, name := range slices.Sorted(maps.Keys(record)) { // of several faults always the same one
		var to any
		takes := "a text"
		f, ok := measure.FindField(name)
		switch {
		case name == "type":
			to = &kind
		case name == "seq":
			to, takes = &x.Seq, "a whole number from 1"
		case name == "failure":
			to = &x.Failure
		case ok && f.Kept():
			to, takes = f.At(x), "a whole number (times in ns, sizes in B)"
		default:
			continue
		}
		if json.Unmarshal(record[name], to) != nil {
			return fmt.Errorf("%w: %q is %s, and must be %s, in %q", errNotProtocol, name, clip(record[name]), takes, clip(line))
		}
	}
	x.Failure = shorten(x.Failure)
	if kind != "exchange" {
		return fmt.Errorf("%w: %q", errNotProtocol, clip(line))
	}
	return nil
}

const plainStart = `{"type":"exchange","`

// plainExchange reads a record of integers into x, or says that it is not one.
func plainExchange(b []byte, x *measure.Exchange) bool {
	*x = measure.Exchange{}
	if len(b) < len(plainStart) || string(b[:len(plainStart)]) != plainStart {
		return false
	}
	b = b[len(plainStart):]
	var seen uint64 // a bit for each field, the lowest for "seq"
	next := 0       // programs print the fields in an order of their own, always the same
	for {
		i := 0
		for i < len(b) && b[i] >= 'a' && b[i] <= 'z' {
			i++
		}
		if i+2 > len(b) || b[i] != '"' || b[i+1] != ':' {
			return false
		}
		name, rest := b[:i], b[i+2:]
		v, n := integer(rest)
		if n == 0 || n == len(rest) {
			return false
		}
		bit := uint64(1)
		if string(name) == "seq" {
			x.Seq = uint64(v)
		} else if next = fieldFrom(next, name); next >= 0 {
			bit = 2 << next
			*measure.Fields[next].At(x) = v
		}
		if next < 0 || seen&bit != 0 || x.Seq > math.MaxInt64 {
			return false
		}
		seen |= bit
		switch b = rest[n:]; {
		case len(b) == 1 && b[0] == '}':
			return true
		case len(b) > 2 && b[0] == ',' && b[1] == '"':
			b = b[2:]
		default:
			return false
		}
	}
}

// fieldFrom finds a field that records keep, looking from a place on and round; -1: none.
func fieldFrom(place int, name []byte) int {
	for range measure.Fields {
		if f := &measure.Fields[place]; f.Name == string(name) && f.Kept() {
			return place
		}
		place = (place + 1) % len(measure.Fields)
	}
	return -1
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
