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
		{"server answers", "A peer, a stack inside edgegauge, asks the server for messages of 0 to 65536 elements. Both " +
			"sides must count the same requests and the same bytes, with phases that add up to no more than total."},
		{"answers", "The stack's own client asks its own server, as above."},
		{largeMessages, "A part of the two above. A stack whose messages must fit one datagram may deviate."},
		{stack.CountsBytes, "A part of the two above. A stack whose framework shows its adapter no bodies may deviate: it " +
			"then reports 0 B, and a wrong number is still a fault."},
		{"connection", "The client uses connections as told: keep-alive takes one for all requests, per-request one for " +
			"each. They are counted between client and server."},
		{"RTT excludes connecting", "Behind a link on which opening a connection takes longer than a round trip, " +
			"opening is in connection, before sent, and the round trip is between sent and done. Not of DPWS: the client " +
			"asks a multicast group for the device, and connects to the address that the device itself says, so the link " +
			"cannot stand between them unless another device answers for it with other addresses. After that it is HTTP: " +
			"reference/dpws opens connections with the driver of this program's HTTP stacks, which are checked."},
		{"refuses wrong fields", "The server refuses JSON in which a field is missing, of another type, or out of range. A " +
			"server that reads what it wants and ignores the rest measures less work than others do."},
		{"server writes the canonical form", "Where the contract leaves one form (JSON, CBOR, MessagePack, protobuf, " +
			"text), answers have these bytes: spaces or another order would be another message size."},
		{"refuses numbers out of range", "The server refuses numbers that do not fit 32 bits."},
		{"listens on its host only", "The server listens on the host it was told, 127.0.0.1, and on no other address of " +
			"the machine: what is measured must not be open to the network."},
		{"server binds its host only", "No TCP socket of the server's processes listens, and no UDP socket is bound, on " +
			"another address, on whatever port. A device of DPWS may be bound to the group of WS-Discovery, too."},
		{"client binds the server's host only", "After requests to a server on 127.0.0.1 no TCP socket of the client " +
			"listens, and no UDP socket is bound, on another address: it would take what others send into a trial."},
		{"times its phases", "No phase is 0 in all records: deserialization, processing, serialization and total of the " +
			"server, serialization, deserialization and total of the client."},
		{"waits for no timer", "On one connection, round trips do not take the 40 ms or 200 ms for which TCP delays " +
			"acknowledgements or repeats segments: a message in two writes waits for them, unless TCP_NODELAY is set."},
		{"refuses bad requests and continues", "Truncated bodies, garbage, another media type and bodies over the limit " +
			"are refused with the protocol's own error (HTTP 4xx, CoAP 4.xx, a fault), and the next valid request is answered."},
		{"refuses truncated and endless bodies", "Over HTTP/1.1, bodies that are shorter than announced, or that exceed " +
			"the limit without announcing a length, are refused."},
		{"refuses forged WS-Security", "Forged, old and repeated messages get a fault."},
		{"paces requests as told", "In runs with an interval, a rate or a duration, requests are due when the run says and " +
			"none is sent before. A client that cannot do a run says so in an error line: nothing is rounded or replaced."},
		{"client gives up after its timeout", "A request that a server takes and never answers is a failure without done, " +
			"after the timeout that the call line gives."},
		{"a known delay shows in processing", "With the option delay the service is slower by 50 ms: in the server's " +
			"processing and in the client's RTT, and nowhere else. So a wrong unit or two swapped phases are found. If the " +
			"delay seems to be elsewhere, it is tried again with 500 ms: a busy machine is slow in every phase, but not by as " +
			"much."},
		{"two at once", "Two servers of the stack run beside each other, on ports of their own."},
		{"client asks", "The stack's client asks a peer's server."},
		{"client sends the message of its seed", "What the peer's server received is the message that seed and n make " +
			"(stacks/contract/README.md). The seed has 64 bits."},
		{"client writes the canonical form", "Requests, like answers, have exactly the bytes of the contract."},
		{"client checks its answers", "A peer's server answers with the wrong message. Each such request must be " +
			"recorded as a failure."},
		{"server reports errors", "An unknown service or encoding gets a line of type error, with a reason."},
		{"client reports errors", "So does an unknown connection."},
		{endsWithItsInput, "A program ends within 5 seconds of the end of its stdin, leaves no process behind, and prints " +
			"nothing more."},
	}
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
