// Package stack speaks the adapter protocol with a stack (stacks/PROTOCOL.md),
// and lists and builds stacks. The conformance kit is below, in conform. It starts no process
// itself: a Stack gives argv, and its caller gives back the two pipes.
package stack

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// ProgramVerb is the hidden verb of the binary that runs a stack inside it:
// stack-program NAME serve|call. It is not the beginning of "stacks", which people type.
const ProgramVerb = "stack-program"

// Protocol is the version of the adapter protocol spoken here.
const Protocol = 1

// Serve asks a program to serve; see stacks/PROTOCOL.md for each field.
type Serve struct {
	Type        string            `json:"type"`                  // set by Conn
	Protocol    int               `json:"protocol"`              // version of the protocol
	Service     string            `json:"service"`               // name, as in a study
	Encoding    string            `json:"encoding"`              // likewise
	Security    string            `json:"security"`              // likewise
	Transport   string            `json:"transport"`             // likewise
	Host        string            `json:"host"`                  // address to listen on
	Port        int               `json:"port"`                  // 0: any
	Limits      Limits            `json:"limits"`                // of requests
	Credentials map[string]string `json:"credentials,omitempty"` // paths of files, by what they hold
	Sensor      string            `json:"sensor,omitempty"`      // where temperature reads, such as fixed:21.5
	Directory   string            `json:"directory,omitempty"`   // where the program may write
	Message     Message           `json:"message"`               // what will be asked; only the floor needs to know
	Options     map[string]string `json:"options,omitempty"`     // free options of the study, by name
	// Connections is how many clients that are many devices have open at once; 0: there are none, or they keep none.
	Connections int `json:"connections,omitempty"`
}

// Call asks a program to become a client.
type Call struct {
	Type        string            `json:"type"`                  // set by Conn
	Protocol    int               `json:"protocol"`              // version of the protocol
	URL         string            `json:"url"`                   // the server's
	Service     string            `json:"service"`               // name, as in a study
	Encoding    string            `json:"encoding"`              // likewise
	Security    string            `json:"security"`              // likewise
	Transport   string            `json:"transport"`             // likewise
	Message     Message           `json:"message"`               // which one to send
	Connection  string            `json:"connection"`            // keep-alive, per-request, pipelined or multiplexed
	Concurrency int               `json:"concurrency,omitempty"` // the most that any run will ask for
	Timeout     int64             `json:"timeout"`               // ns a request
	Limits      Limits            `json:"limits"`                // of answers
	Credentials map[string]string `json:"credentials,omitempty"` // paths of files, by what they hold
	Options     map[string]string `json:"options,omitempty"`     // free options of the study, by name
	// Request is what to ask in place of a service's message. Only edgegauge's own
	// client is told it; its form is no part of the protocol.
	Request json.RawMessage `json:"request,omitempty"`
	// Population makes the client many devices (internal/drive/population, Spec). Likewise.
	Population json.RawMessage `json:"population,omitempty"`
}

// Message says which message to send (stacks/contract/README.md).
type Message struct {
	Seed    uint64 `json:"seed"`              // that it is generated from
	N       int    `json:"n"`                 // elements
	Letters int    `json:"letters,omitempty"` // of each text; 0: as the service has it
	Max     uint64 `json:"max,omitempty"`     // largest number; 0: as the service has it
}

// Limits bound what a program accepts.
type Limits struct {
	Body int64 `json:"body"` // B
}

// Run asks a client to send requests.
type Run struct {
	Type        string  `json:"type"`                  // set by Conn
	Requests    int     `json:"requests,omitempty"`    // at most; 0: no limit
	Duration    int64   `json:"duration,omitempty"`    // ns
	Record      bool    `json:"record"`                // send an exchange for each request
	Interval    int64   `json:"interval,omitempty"`    // ns between due instants, closed loop
	Concurrency int     `json:"concurrency,omitempty"` // requests under way at once; 0: one
	Rate        float64 `json:"rate,omitempty"`        // requests/s, open loop
	Arrival     string  `json:"arrival,omitempty"`     // of an open loop: constant or poisson
	Seed        uint64  `json:"seed,omitempty"`        // of poisson arrivals
}

// Report asks a server for what it recorded since the last report.
type Report struct {
	Type    string `json:"type"`    // set by Conn
	Discard bool   `json:"discard"` // drop the records instead of sending them
}

// Ready is a program's answer to Serve or Call.
type Ready struct {
	URL     string `json:"url"`     // the server's; of a client: empty
	Version string `json:"version"` // of the framework, in the program's words
	Runtime string `json:"runtime"` // what the program runs on, in its words
	// Phases of a client that are over before its first request.
	Phases Phases `json:"phases,omitzero"`
	// Again: the program takes another line of its verb.
	Again bool `json:"again,omitempty"`
	// Processes is how many share the connections of a server; 0: one has all.
	Processes int `json:"processes,omitempty"`
}

// Phases are what a client does once, not for every request. 0: it did not, or
// not yet.
type Phases struct {
	Discovery   time.Duration `json:"discovery,omitzero"`    // search sent to the server's address known
	Metadata    time.Duration `json:"metadata,omitzero"`     // description of the server and its service fetched and read
	FirstInvoke time.Duration `json:"first_invoke,omitzero"` // total of the first request of all
}

// Or is p with q's where p has none.
func (p Phases) Or(q Phases) Phases {
	return Phases{cmp.Or(p.Discovery, q.Discovery), cmp.Or(p.Metadata, q.Metadata), cmp.Or(p.FirstInvoke, q.FirstInvoke)}
}

// Failures are the requests of a run without records that got no right answer: nobody else would know of
// them. A program that does not count them has none here.
type Failures struct {
	Failed       int    `json:"failed,omitempty"`        // how many
	FirstFailure string `json:"first_failure,omitempty"` // why the first of them failed
}

// Add adds those of another client.
func (f *Failures) Add(g Failures) {
	f.Failed += g.Failed
	f.FirstFailure = cmp.Or(f.FirstFailure, g.FirstFailure)
}

// header is what every line from a program has.
type header struct {
	Type    string `json:"type"`
	Message string `json:"message"`
	Count   int    `json:"count"`
	CPU     int64  `json:"cpu"`
	// Of a client's run; see End.
	Repetitions     int             `json:"repetitions"`
	Retransmissions int             `json:"retransmissions"`
	Reconnects      int             `json:"reconnects"`
	Surplus         int             `json:"surplus_answers"`
	Unsure          int             `json:"unsure_answers"`
	Population      json.RawMessage `json:"population"`
	Failures
	Ready
}

// ProgramError is an error that a program reported in its own words.
type ProgramError struct{ Message string }

func (e *ProgramError) Error() string { return e.Message }

func parseHeader(line []byte) (header, error) {
	var h header
	if err := json.Unmarshal(line, &h); err != nil || h.Type == "" {
		return h, noLine(line, err)
	}
	if h.Type == "error" {
		return h, &ProgramError{shorten(h.Message)}
	}
	return h, nil
}

// noLine says what is wrong with a line that is none of the protocol. Who prints it mostly meant a person to read it.
// err is what decoding it gave; nil: it has no type.
func noLine(line []byte, err error) error {
	var wrong *json.UnmarshalTypeError
	switch {
	case !json.Valid(line):
		return fmt.Errorf("%w: %q is no JSON; stdout belongs to the protocol alone: print what people are to read on stderr",
			errNotProtocol, clip(line))
	case errors.As(err, &wrong) && wrong.Field != "":
		return fmt.Errorf("%w: %q has a wrong type of value (%s), in %q", errNotProtocol, wrong.Field, wrong.Value,
			clip(line))
	case err != nil:
		return fmt.Errorf("%w: %q is no object", errNotProtocol, clip(line))
	}
	return fmt.Errorf("%w: %q has no \"type\"", errNotProtocol, clip(line))
}

// mostText is how much of a program's own words is kept: an error or a failure.
const mostText = 2000 // B

// shorten cuts a text to mostText, and says so in it.
func shorten(text string) string {
	if len(text) <= mostText {
		return text
	}
	head := strings.ToValidUTF8(text[:mostText], "")
	return fmt.Sprintf("%s… (truncated: %d B in total)", head, len(text))
}

func clip(b []byte) string {
	const most = 100
	if len(b) > most {
		return string(b[:most]) + "…"
	}
	return string(b)
}
