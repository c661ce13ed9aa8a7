// Package service says what a stack is asked: the services, their messages made
// from a seed, and their right answers, as stacks/contract/README.md defines
// them. It does no I/O and knows no encoding; package codec has those.
package service

import (
	"fmt"
	"strings"
)

// A Name names a service.
type Name string

// The services.
const (
	Sort        Name = "sort"        // n int32, answered in ascending order
	Concat      Name = "concat"      // n strings, answered joined
	Sum         Name = "sum"         // n hundredths, answered by their sum
	Echo        Name = "echo"        // n letters, answered by themselves
	Temperature Name = "temperature" // nothing, answered by a sensor's reading
	Monitor     Name = "monitor"     // one record, acknowledged
	IO          Name = "io"          // n bytes, written and read back, answered by their SHA-256
	Memory      Name = "memory"      // n bytes, answered by a chase through them
)

// Names lists the services in the order of the contract.
func Names() []Name {
	return []Name{Sort, Concat, Sum, Echo, Temperature, Monitor, IO, Memory}
}

// Parse finds the service of that name.
func Parse(text string) (Name, error) {
	var known []string
	for _, n := range Names() {
		if string(n) == text {
			return n, nil
		}
		known = append(known, string(n))
	}
	return "", fmt.Errorf("unknown service %q; available: %s", text, strings.Join(known, ", "))
}

// A Message is a request or a response of any service; each uses the fields
// named after it and leaves the others alone. It is made to be reused: Make,
// Answer and codec.Decode overwrite it and keep its buffers, so that the steady
// state allocates nothing. All its slices are therefore valid only until then.
//
// Decimals are integers in hundredths: 1231 is 12.31.
type Message struct {
	Ints       []int32  // sort: request and response
	Strings    [][]byte // concat: request; they lie in Arena
	Text       []byte   // concat: response; echo: request and response
	Hundredths []int64  // sum: request
	Total      int64    // sum: response, hundredths
	Celsius    int64    // temperature: response, hundredths of °C
	Time       int64    // temperature: response, ms since 1970-01-01T00:00:00Z
	Record     Record   // monitor: request
	Accepted   bool     // monitor: response
	Sequence   int32    // monitor: response
	Data       []byte   // io, memory: request; io: what Env.Keep read back
	Digest     []byte   // io, memory: response

	Arena []byte // backs Strings
}

// A Record is what monitor reports.
type Record struct {
	ID          []byte
	Status      int32
	Sequence    int32
	Temperature int64 // hundredths of °C
	Pressure    int64 // hundredths of hPa
	Running     bool
	Message     []byte
}

// ResetStrings empties Strings and the arena behind them.
func (m *Message) ResetStrings() {
	m.Strings, m.Arena = m.Strings[:0], m.Arena[:0]
}

// EndString makes what was appended to Arena since its length was start the
// next of Strings. Growing the arena later moves no earlier string: they keep
// the old array.
func (m *Message) EndString(start int) {
	m.Strings = append(m.Strings, m.Arena[start:len(m.Arena):len(m.Arena)])
}
