package conform

import (
	"strings"

	"edgegauge.example/edgegauge/internal/stack"
)

// A Check is one kind of check. Its name ends the name of each check that Run
// reports, after encoding, security, transport and service; some say more behind it.
type Check struct{ Name, Explanation string }

// Checks lists all kinds, in the order they are run.
func Checks() []Check {
	return []Check{
		{"server answers", "A peer (a stack inside edgegauge) sends the server messages of 0 to 65536 elements. Both " +
			"sides must count the same requests and the same bytes, and phases must sum to no more than total."},
		{"answers", "The stack's own client calls its own server, as above."},
		{largeMessages, "Part of the two checks above. A stack whose messages must fit one datagram may deviate."},
		{stack.CountsBytes, "Part of the two checks above. A stack whose framework hides bodies from its adapter may " +
			"deviate: it then reports 0 B, and a wrong number is still a fault."},
		{"connection", "The client uses connections as told: keep-alive uses one for all requests, per-request one for " +
			"each. They are counted between client and server."},
		{"RTT excludes connecting", "Over a link on which opening a connection takes longer than a round trip, opening " +
			"is part of connection, before sent, and the round trip is between sent and done. What of the total is in no " +
			"phase is no round trip: closing a connection is no part of it. Not checked for DPWS: the client finds the " +
			"device by multicast and connects to the address that the device itself gives, so no link can stand between " +
			"them. Afterwards it is HTTP: reference/dpws opens connections with the driver of this program's HTTP stacks, " +
			"which are checked."},
		{wholeHandshakes, "The client makes three connections with TLS or DTLS, to its own server and with a peer, and " +
			"what the server says in the clear is read from the wire. No session is resumed, the key exchange is by X25519 " +
			"(TLS), the cipher suite is the one of doc/method.md (Go's TLS 1.3 has ChaCha20 on a CPU without instructions " +
			"for AES), and no round trip is lost by a key of another group. Not checked of QUIC, whose handshakes are " +
			"encrypted. Before TLS 1.3, and in DTLS, the server asks for no certificate of the client."},
		{noCertificate, "A client with TLS or QUIC shakes hands with the server, which must not ask for its certificate: " +
			"no security here has one, and a server that asks names each authority that it believes, 15 kB of Java's own."},
		{"refuses wrong fields", "The server refuses JSON in which a field is missing, of another type, or out of " +
			"range. A server that checks less does less work than others, so its times cannot be compared."},
		{"server writes the canonical form", "Where the contract defines one form (JSON, CBOR, MessagePack, protobuf, " +
			"text), answers have exactly these bytes: with spaces or in another order they would be another message."},
		{"refuses numbers out of range", "The server refuses numbers that do not fit 32 bits."},
		{"listens on its host only", "The server listens on the host it was told, 127.0.0.1, and on no other address " +
			"of the machine: a measured program must not be open to the network."},
		{"server binds its host only", "On other addresses no TCP socket of the server's processes listens and no UDP " +
			"socket is bound, on any port. A DPWS device may also be bound to the multicast group of WS-Discovery."},
		{"client binds the server's host only", "After requests to a server on 127.0.0.1 no TCP socket of the client " +
			"listens and no UDP socket is bound on another address: otherwise packets of other machines could reach a trial."},
		{"times its phases", "No phase is 0 in all records: deserialization, processing, serialization and total of the " +
			"server, serialization, deserialization and total of the client. In the first combination of each encoding, to " +
			"encode and to decode a message of 65536 elements takes longer than one of 1."},
		{"waits for no timer", "On one connection, round trips do not take the 40 ms or 200 ms after which TCP sends a " +
			"delayed acknowledgement or retransmits: without TCP_NODELAY, a message in two writes waits for that."},
		{"total begins with the whole request", "Over HTTP/1.1 a request waits before its first byte and in the middle of " +
			"its body. The server's total begins when the whole request is in memory: to wait for it is transmission."},
		{"answers several connections", "Over HTTP/1.1 three connections are open at a time, asked first in turn and then " +
			"at once. On each the answer is that to its own message."},
		{"decodes each message anew", "Messages that were never sent before are each sent twice. A server that keeps what " +
			"it decoded needs a fraction of the time for the second. All requests of a run are the same message, so its " +
			"deserialization would be that of a cache."},
		{"writes HTTP/1.1 as defined", "A relay between client and server reads what both write strictly by RFC 9112: " +
			"start lines, fields, and a body with Content-Length or in chunks. The client asks once for each request, at " +
			"the path of the URL it was told, with that URL's Host and without Expect. Both name the encoding's media type."},
		{"RTT ends with the last byte", "The relay holds the last byte of each answer back for 50 ms. done is after it."},
		{"refuses bad requests and continues", "Truncated bodies, garbage, another media type and bodies over the limit " +
			"are refused with the protocol's own error (HTTP 4xx, CoAP 4.xx, a fault), and the next valid request is answered."},
		{bodyOverLimit, "One of the bad requests that are refused. A framework that has no limit, and no hook for one, " +
			"deviates from it; the others are sent."},
		{"refuses truncated and endless bodies", "Over HTTP/1.1, bodies that are shorter than announced, or that exceed " +
			"the limit without announcing a length, are refused."},
		{"refuses forged WS-Security", "Forged, old and repeated messages get a fault."},
		{"paces requests as told", "In runs with an interval, a rate or a duration, requests are due when the run " +
			"says, and none is sent earlier; at a rate all that are due are sent, the late ones after the duration. A client " +
			"that does not support a run answers with an error line: nothing is rounded or replaced."},
		{"client gives up after its timeout", "A request that a server accepts and never answers is recorded as a " +
			"failure without done, after the timeout of the call line and not before."},
		{"a known delay shows in processing", "With the option delay the service is slower by 50 ms, in the server's " +
			"processing and in the client's RTT and nowhere else: not in another phase, not in what the phases leave of the " +
			"server's total, not in what that leaves of RTT. It is checked once in each encoding. This finds wrong units " +
			"and swapped phases. If the delay seems to be elsewhere, the check is " +
			"repeated with 500 ms: a busy machine slows every phase, but not by as much."},
		{"two at once", "Two servers of the stack run at the same time, on different ports."},
		{"client asks", "The stack's client calls a peer's server."},
		{"client sends the message of its seed", "The peer's server received the message that seed and n generate " +
			"(stacks/contract/README.md). The seed has 64 bits."},
		{"client sends messages as wide as told", "Of concat and sum: so it does if the call line has letters or max, by " +
			"which studies repeat published sizes of messages. A client that does not know them answers with an error line."},
		{"client writes the canonical form", "Requests, like answers, have exactly the bytes of the contract."},
		{"client checks its answers", "A peer's server answers with the wrong message. Each such request must be " +
			"recorded as a failure; of a warm-up, which has no records, the end must say how many failed, and why."},
		{"client fails on faults", "A server of the kit answers SOAP over plain HTTP with the faults of its version: in " +
			"SOAP 1.1 each with HTTP status 500, in SOAP 1.2 a Sender's with 400 and a Receiver's with 500. Each such request " +
			"must be recorded as a failure, and is sent once."},
		{"server reports errors", "An unknown service or encoding gets a line of type error, with a reason."},
		{"client reports errors", "So does an unknown connection."},
		{wrongOption, "An option of stack.yaml with a value that it does not have (delay: 20ms, where it is in " +
			"nanoseconds; no-such-value of others) gets an error line from the server or from the client, whichever reads it. " +
			"A program that takes such a value for none would measure treatments that do not differ. An option for which " +
			"every text is right deviates."},
		{endsWithItsInput, "A program ends within 5 seconds of the end of its stdin, leaves no process behind, and prints " +
			"nothing more."},
	}
}

// kindOf is the name of the kind of a check; what is its own name, which may say more behind that of its kind.
func kindOf(what string) (kind string) {
	for _, k := range Checks() {
		more, is := strings.CutPrefix(what, k.Name)
		if is && (more == "" || more[0] == ' ' || more[0] == ',') && len(k.Name) > len(kind) {
			kind = k.Name
		}
	}
	return kind
}

// Explain says what a check that Run reported looks at.
func Explain(check string) string {
	best := Check{}
	for _, c := range Checks() {
		at := strings.Index(check, c.Name)
		found := at == 0 || at > 0 && check[at-1] == ' '
		if found && len(c.Name) > len(best.Name) {
			best = c
		}
	}
	return best.Explanation
}
