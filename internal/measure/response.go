package measure

// A Response is a response variable: a Quantity that a study can ask for, seen
// at one or both sides.
type Response struct {
	Quantity
	Sides []Side
	Says  string // in words, for tables and manuals
	// Packets says that it comes from captured packets: it is measured only
	// where a study asks for it, and needs the right to capture.
	Packets bool
}

var (
	atClient = []Side{Client}
	atServer = []Side{Server}
	atBoth   = []Side{Client, Server}
)

// Responses lists the response variables in the order of a report.
func Responses() []Response {
	return []Response{
		{Quantity{"rtt", "s"}, atClient, "first byte of the request sent to last byte of the response received", false},
		{Quantity{"response_time", "s"}, atClient, "the same from the instant the request was due", false},
		{Quantity{"serialization", "s"}, atBoth, "object to bytes, inside the stack, I/O excluded", false},
		{Quantity{"deserialization", "s"}, atBoth, "bytes to object, inside the stack, I/O excluded", false},
		{Quantity{"processing", "s"}, atServer, "the service's own work", false},
		{Quantity{"sensor_time", "s"}, atServer, "the part of processing that the sensor took, waiting for other readers included", false},
		{Quantity{"connection", "s"}, atClient, "opening a connection or seeing that a kept one still stands, before the request is sent: in total_time, not in rtt", false},
		{Quantity{"total_time", "s"}, atBoth, "client: before serialization to after deserialization; server: request received whole to response handed on", false},
		{Quantity{"message_size", "B"}, atClient, "body of the request", false},
		{Quantity{"response_size", "B"}, atClient, "body of the response", false},
		{Quantity{"throughput", "1/s"}, atClient, "requests answered a second", false},
		{Quantity{"cpu", "s"}, atBoth, "CPU time of the side's processes per request", false},
		{Quantity{"instructions", "1"}, []Side{Server}, "user instructions of the server's program per request, on a device that counts them", false},
		{Quantity{"delay", "s"}, atClient, "on the wire: first SYN or datagram to the client's last ACK or last datagram", true},
		{Quantity{"delay_to_data", "s"}, atClient, "on the wire: first SYN or datagram to the last data of the response", true},
		{Quantity{"jitter", "s"}, atClient, "difference of successive delays, absolute", true},
		{Quantity{"jitter_rfc3550", "s"}, atClient, "the estimator of RFC 3550, section 6.4.1", true},
		{Quantity{"wire_bytes", "B"}, atClient, "whole frames of a request and its response, both directions", true},
		{Quantity{"packets", "1"}, atClient, "frames of a request and its response, both directions", true},
		{Quantity{"retransmissions", "1"}, atClient, "packets that carried something seen before", true},
		{Quantity{"handshake_bytes", "B"}, atClient, "frames of the connection's and the security's handshake", true},
		{Quantity{"handshake_time", "s"}, atClient, "first SYN to the end of the handshakes", true},
		{Quantity{"discovery", "s"}, atClient, "once: search for the server sent to its address known (DPWS: Probe to match)", false},
		{Quantity{"metadata", "s"}, atClient, "once: description of the server and its service fetched and read", false},
		{Quantity{"first_invoke", "s"}, atClient, "total_time of the client's very first request, warm-up included", false},
		{Quantity{"energy", "J"}, atBoth, "energy per request, net of the idle of the same trial", false},
		{Quantity{"energy_gross", "J"}, atBoth, "energy per request, idle included", false},
		{Quantity{"trial_energy", "J"}, atBoth, "energy of the recorded run, idle included", false},
		{Quantity{"power", "W"}, atBoth, "mean power of the recorded run", false},
		{Quantity{"peak_rss", "B"}, atBoth, "largest resident memory of the side's processes", false},
	}
}

// FindResponse finds a response variable by name.
func FindResponse(name string) (Response, bool) {
	for _, r := range Responses() {
		if r.Name == name {
			return r, true
		}
	}
	return Response{}, false
}
