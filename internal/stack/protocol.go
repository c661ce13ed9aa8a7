// Package stack speaks the adapter protocol with a stack (stacks/PROTOCOL.md),
// and lists and builds stacks. The conformance kit is below, in conform. It starts no process
// itself: a Stack gives argv, and its caller gives back the two pipes.
package stack

import (
	"cmp"
	"encoding/json"
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
	Type        string            `json:"type"` // set by Conn
	Protocol    int               `json:"protocol"`
	Service     string            `json:"service"`
	Encoding    string            `json:"encoding"`
	Security    string            `json:"security"`
	Transport   string            `json:"transport"`
	Host        string            `json:"host"`
	Port        int               `json:"port"`
	Limits      Limits            `json:"limits"`
	Credentials map[string]string `json:"credentials,omitempty"`
	Sensor      string            `json:"sensor,omitempty"`
	Directory   string            `json:"directory,omitempty"`
	Message     Message           `json:"message"` // what will be asked; only the floor needs to know
	Options     map[string]string `json:"options,omitempty"`
}

// Call asks a program to become a client.
type Call struct {
	Type        string            `json:"type"`
	Protocol    int               `json:"protocol"`
	URL         string            `json:"url"`
	Service     string            `json:"service"`
	Encoding    string            `json:"encoding"`
	Security    string            `json:"security"`
	Transport   string            `json:"transport"`
	Message     Message           `json:"message"`
	Connection  string            `json:"connection"`
	Concurrency int               `json:"concurrency,omitempty"` // the most that any run will ask for
	Timeout     int64             `json:"timeout"`               // ns a request
	Limits      Limits            `json:"limits"`
	Credentials map[string]string `json:"credentials,omitempty"`
	Options     map[string]string `json:"options,omitempty"`
	// Request is what to ask in place of a service's message. Only edgegauge's own
	// client is told it; its form is no part of the protocol.
	Request json.RawMessage `json:"request,omitempty"`
	// Population makes the client many devices (internal/drive/population, Spec). Likewise.
	Population json.RawMessage `json:"population,omitempty"`
}

// Message says which message to send (stacks/contract/README.md).
type Message struct {
	Seed    uint64 `json:"seed"`
	N       int    `json:"n"`
	Letters int    `json:"letters,omitempty"`
	Max     uint64 `json:"max,omitempty"`
}

// Limits bound what a program accepts.
type Limits struct {
	Body int64 `json:"body"` // B
}

// Run asks a client to send requests.
type Run struct {
	Type        string  `json:"type"`
	Requests    int     `json:"requests,omitempty"`
	Duration    int64   `json:"duration,omitempty"` // ns
	Record      bool    `json:"record"`
	Interval    int64   `json:"interval,omitempty"` // ns between due instants, closed loop
	Concurrency int     `json:"concurrency,omitempty"`
	Rate        float64 `json:"rate,omitempty"` // requests/s, open loop
	Arrival     string  `json:"arrival,omitempty"`
	Seed        uint64  `json:"seed,omitempty"`
}

// Report asks a server for what it recorded since the last report.
type Report struct {
	Type    string `json:"type"`
	Discard bool   `json:"discard"`
}

// Ready is a program's answer to Serve or Call.
type Ready struct {
	URL     string `json:"url"`
	Version string `json:"version"`
	Runtime string `json:"runtime"`
	// Phases of a client that are over before its first request.
	Phases Phases `json:"phases,omitzero"`
	// Again: the program takes another line of its verb.
	Again bool `json:"again,omitempty"`
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

// header is what every line from a program has.
type header struct {
	Type    string `json:"type"`
	Message string `json:"message"`
	Count   int    `json:"count"`
	CPU     int64  `json:"cpu"`
	// Of a client's run; see End.
	Repetitions     int             `json:"repetitions"`
	Retransmissions int             `json:"retransmissions"`
	Population      json.RawMessage `json:"population"`
	Ready
}

// ProgramError is an error that a program reported in its own words.
type ProgramError struct{ Message string }

func (e *ProgramError) Error() string { return e.Message }

func parseHeader(line []byte) (header, error) {
	var h header
	if err := json.Unmarshal(line, &h); err != nil || h.Type == "" {
		return h, fmt.Errorf("%w: %q", errNotProtocol, clip(line))
	}
	if h.Type == "error" {
		return h, &ProgramError{shorten(h.Message)}
	}
	return h, nil
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
