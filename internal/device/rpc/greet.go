package rpc

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// Protocol is the number of this protocol. It changes with every change that an
// older side would misunderstand.
const Protocol = 1

// A Hello is what a side says of itself before anything else.
type Hello struct {
	Protocol int    `json:"protocol"` // version of the calls
	Build    string `json:"build"`    // what the program was built from
	// Silence is how long the lab may be unheard before the agent takes it for
	// dead; the lab sends a ping every third of it. 0: for ever, and no pings,
	// for channels on which nothing may happen while a trial runs.
	Silence time.Duration `json:"silence,omitempty"`
}

// A Role is a side.
type Role string

const (
	Lab   Role = "lab"   // asks, and sends the pings
	Agent Role = "agent" // on the device: answers
)

func (r Role) other() Role {
	if r == Lab {
		return Agent
	}
	return Lab
}

func (r Role) magic() string { return "edgegauge-" + string(r) + " " }

// ErrVersion means that the other side speaks another protocol.
var ErrVersion = errors.New("version mismatch")

// Greet greets the other side and returns the connection once it has greeted
// too. What comes before a greeting, such as a login message, is skipped.
func Greet(rw io.ReadWriteCloser, me Role, mine Hello) (*Conn, Hello, error) {
	mine.Protocol = Protocol
	said, err := json.Marshal(mine)
	if err != nil {
		return nil, Hello{}, err
	}
	sent := make(chan error, 1)
	go func() { // both sides greet first: a pipe without a buffer would block both
		_, err := fmt.Fprintf(rw, "%s%s\n", me.magic(), said)
		sent <- err
	}()
	in := bufio.NewReaderSize(rw, 16<<10)
	theirs, err := hear(in, me.other())
	if err != nil {
		return nil, theirs, err
	}
	if theirs.Protocol != Protocol {
		return nil, theirs,
			fmt.Errorf("%w: the %s there (%s) speaks protocol %d, this program %d; use the same edgegauge at both ends",
				ErrVersion, me.other(), theirs.Build, theirs.Protocol, Protocol)
	}
	if err := <-sent; err != nil {
		return nil, theirs, err
	}
	return newConn(rw, in, me, mine, theirs), theirs, nil
}

// hear skips noise up to the greeting. A greeting of another version may be
// longer by fields we do not know.
func hear(in *bufio.Reader, who Role) (Hello, error) {
	var h Hello
	magic := []byte(who.magic())
	var seen []byte // the latest bytes, for the message
	for n := 0; n < maxNoise; {
		line, err := in.ReadSlice('\n')
		n += len(line)
		if i := bytes.Index(line, magic); i >= 0 && err == nil {
			err := json.Unmarshal(line[i+len(magic):], &h)
			if err != nil || h.Protocol == 0 {
				return h, fmt.Errorf("%w: its greeting is %q", ErrNoise, clip(line[i:]))
			}
			return h, nil
		}
		if len(bytes.TrimSpace(line)) > 0 {
			seen = append(seen[:0], clip(line)...)
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			if len(seen) > 0 {
				err = fmt.Errorf("%w; the last data received were %q", err, seen)
			}
			return h, err
		}
	}
	return h, fmt.Errorf("%w: %d bytes without a greeting, the last %q", ErrNoise, maxNoise, seen)
}

func clip(b []byte) []byte {
	const most = 200
	return bytes.TrimSpace(b[:min(len(b), most)])
}
