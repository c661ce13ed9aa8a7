package study

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// A Setup is one treatment in full: every setting with its value or default,
// so that whoever conducts a trial parses no text. It is shared; do not change it.
type Setup struct {
	Service string
	N       int   // elements of the message, where Size is 0
	Size    int64 // B of the message's canonical XML; 0: N says it
	Stack   string
	// Encoding, Security and Transport are the first that the stack has where the
	// study leaves them open, but no security if it can; empty: no stack says.
	Encoding   string
	Security   string
	Transport  string
	Connection string // keep-alive, per-request, pipelined or multiplexed
	IP         string // ipv4 or ipv6

	Client, Server Side
	Link           Link

	URL     string   // of a service that is already running: the lab starts no server
	Request *Request // what it is asked; nil without URL

	Requests    int           // of the measured part, or the fewest with MinDuration; 0: Duration says it
	Duration    time.Duration // of the measured part; 0: Requests says it
	MinDuration time.Duration // of the measured part; 0: as long as Requests take
	Concurrency int           // connections, each with one request under way; or requests under way on one
	Rate        float64       // requests/s over all connections; 0: closed loop
	Arrival     string        // constant or poisson, where Rate is above 0

	Population Population // many devices in place of one client

	DrivenFrom int // so many benches send at the same time, each at Rate or over Concurrency connections; 0, 1: one

	// Placement says where on this machine both programs run; empty: a device or a pin says it.
	Placement string
	AtOnce    int    // so many trials of a block run at the same time, each behind a link of its own; 0, 1: alone
	Capture   string // off: no packets are captured, whatever the study asks
	// LeaveOut are responses that these trials do not give, whatever the study asks: of both sides, or as server.cpu.
	LeaveOut []string

	Heap int64 // B a managed runtime may take; 0: its own choice
	// of service temperature: serial:/dev/ttyUSB0, …, or simulated, simulated:avr, simulated:go, which the lab starts
	Sensor  string
	IODir   string            // where the server's scratch folder is made, on the lab's machine; empty: the lab's own
	Options map[string]string // handed to the stack as they stand
}

// LeavesOut says whether these trials do not give a response of a side, client or server.
func (s *Setup) LeavesOut(side, response string) bool {
	return slices.Contains(s.LeaveOut, response) || slices.Contains(s.LeaveOut, side+"."+response)
}

// A Side is the client's or the server's part of a Setup.
type Side struct {
	Device string
	Stack  string // Setup.Stack, unless the study gives the side its own
	Meter  string // what reads its supply, such as avr:/dev/ttyUSB0; empty: nothing
}

// A Link is a link as a study names it: a profile, or the shape itself.
type Link struct {
	Text     string // "nb-iot", "delay=40ms loss=1%", or the name the study gave the shape
	Profile  string // empty where Up and Down say it, and for no link at all ("none")
	Up, Down Shape  // client to server, server to client; with a profile: what replaces it
	Shaper   string // "netem": the kernel's; empty: ours

	// Replaced are the keys of Up and Down that replace those of the profile, in
	// the order of the study, such as "loss up.rate".
	Replaced string
}

// A Shape is what one direction of a link does to its packets.
type Shape struct {
	Delay, DelayStdDev time.Duration
	Loss               float64 // probability, 0 to 1
	Burst              int     // mean packets in a burst of losses; 0: each is lost for itself
	Rate               int64   // bit/s; 0 is unlimited
	Queue              int     // packets; 0: the link's own default
	Reorder            bool    // packets may overtake each other as the spread has it
}

// The placements of two programs that share this machine.
const (
	Together = "together" // on one CPU
	Apart    = "apart"    // on a CPU each
	Free     = "free"     // where the kernel's scheduler puts them
)

// thisMachine is the device on which a placement means something.
const thisMachine = "local"

// Local reports whether both sides run on this machine itself.
func (s *Setup) Local() bool {
	return s.Client.Device == thisMachine && s.Server.Device == thisMachine
}

// An outline is a part of a setup, equal for equal ones.
type outline struct {
	service, encoding, security, transport, connection, ip, url string
	client, server                                              Side
	n, requests, concurrency, devices                           int
	size                                                        int64
	duration, least, delay                                      time.Duration
	rate                                                        float64
}

func (s *Setup) outline() outline {
	return outline{s.Service, s.Encoding, s.Security, s.Transport, s.Connection, s.IP, s.URL, s.Client, s.Server, s.N,
		s.Requests, s.Concurrency, s.Population.Devices, s.Size, s.Duration, s.MinDuration, s.Link.Up.Delay, s.Rate}
}

// key is equal for setups that are the same, whatever a link is called, and whether Stack or the sides say the stack.
func (s *Setup) key() string {
	x := *s
	x.Stack, x.Link.Text, x.Request = "", "", nil
	x.AtOnce, x.DrivenFrom = max(x.AtOnce, 1), max(x.DrivenFrom, 1)
	return fmt.Sprintf("%#v %s", x, s.Request)
}

func defaultSetup() Setup {
	return Setup{
		IP: "ipv4", Arrival: "constant", Concurrency: 1,
		Client: Side{Device: thisMachine}, Server: Side{Device: thisMachine}, Link: Link{Text: "none"}, Capture: "on",
	}
}

// A Setting is one value given to one key, fixed or by a level.
type Setting struct {
	Key   string
	Value Word // canonical: 100kB for 100KB

	id  string // equal for equal values, whatever their names
	set func(*Setup)
}

// A Level is one value of a factor. A compound level sets several settings.
type Level struct {
	Word
	Sets []Setting

	bad bool // reported already
}

// id is equal for levels that do the same.
func (l Level) id() string {
	ids := make([]string, len(l.Sets))
	for i, s := range l.Sets {
		ids[i] = s.Key + "=" + s.id
	}
	slices.Sort(ids)
	return strings.Join(ids, "\n")
}

// A Factor is what a study varies, in the order of the file.
type Factor struct {
	Name   string
	Levels []Level
	Pos    Pos
}

// SentOnce says whether a request that a link loses is not sent again, neither by
// the stack nor below it.
func (s *Setup) SentOnce() bool {
	return s.Transport == "udp" || s.Transport == "coap" && s.Options["confirmable"] == "off"
}
