// Package mqtt speaks MQTT 3.1.1 and 5.0 as a client does: packets, the
// handshakes of QoS 0, 1 and 2, sessions that outlive a connection. It is the
// pure half: no socket but Client's, no clock. It is no broker.
//
//	Session  what a connection owes: bytes in, bytes out, messages between
//	Client   a Session over a net.Conn, for tests and the conformance kit
//
// A packet (MQTT 5.0, section 2.1):
//
//	0        1              1–4 bytes more
//	+----+----+--------------+-----------------+------------+---------+
//	|kind|flag| remaining len| variable header | properties | payload |
//	+----+----+--------------+-----------------+------------+---------+
//	                                            MQTT 5 only
package mqtt

// A Version is the protocol level of CONNECT.
type Version byte

// The versions spoken.
const (
	V311 Version = 4 // MQTT 3.1.1
	V5   Version = 5 // MQTT 5.0
)

// A Kind is a type of packet (MQTT 5.0, section 2.1.2).
type Kind byte

// The kinds of packets; who sends one, and what for.
const (
	Connect     Kind = 1 + iota // client: opens a session
	Connack                     // broker: says whether it takes it
	Publish                     // either side: a message
	Puback                      // QoS 1: the message has arrived
	Pubrec                      // QoS 2: the message has arrived, once
	Pubrel                      // QoS 2: its sender has forgotten it
	Pubcomp                     // QoS 2: its receiver has delivered it
	Subscribe                   // client: filters
	Suback                      // broker: with which QoS, or why not
	Unsubscribe                 // client: filters
	Unsuback                    // broker
	Pingreq                     // client: still there
	Pingresp                    // broker: likewise
	Disconnect                  // an end in peace, in MQTT 5 with a reason
	Auth                        // MQTT 5: a step of an extended authentication
)

var kindNames = [...]string{"reserved", "CONNECT", "CONNACK", "PUBLISH", "PUBACK", "PUBREC", "PUBREL", "PUBCOMP",
	"SUBSCRIBE", "SUBACK",
	"UNSUBSCRIBE", "UNSUBACK", "PINGREQ", "PINGRESP", "DISCONNECT", "AUTH"}

// String is the name as the standard writes it.
func (k Kind) String() string { return kindNames[k&15] }

// A Packet is what a broker sends, decoded. Its slices lie in what was decoded.
type Packet struct {
	Kind           Kind
	ID             uint16 // PUBLISH of QoS 1 and 2, PUBACK to PUBCOMP, SUBACK
	SessionPresent bool   // CONNACK
	Reason         byte   // CONNACK, PUBACK to PUBCOMP, DISCONNECT; 3.1.1: CONNACK's return code
	Reasons        []byte // SUBACK
	Message               // PUBLISH
	Limits         Limits // CONNACK
}

// A Message is what applications exchange. A nil field is not sent.
type Message struct {
	Topic   []byte
	Payload []byte
	QoS     byte
	Dup     bool
	Retain  bool
	ID      uint16 // of one delivered with QoS 1: the broker's
	// MQTT 5 only:
	ResponseTopic []byte
	Correlation   []byte
	ContentType   []byte
	Failure       []byte // value of the user property "failure"
}

// Limits are what a broker takes (MQTT 5.0, section 3.2.2.3).
type Limits struct {
	Receive uint16 // PUBLISH of QoS 1 and 2 under way
	Packet  uint32 // B; 0: no limit
	QoS     byte
	Silence uint16 // s that a client may say nothing, in place of its own keep alive (section 3.2.2.3.14); 0: any
}
