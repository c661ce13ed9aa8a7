package measure

// A Response is a response variable: a Quantity that a study can ask for, seen
// at one or both sides.
type Response struct {
	Quantity
	Sides []Side
	Says  string // in words, for tables and manuals
}

var (
	atClient = []Side{Client}
	atServer = []Side{Server}
	atBoth   = []Side{Client, Server}
)

// Responses lists the response variables in the order of a report.
func Responses() []Response {
	return []Response{
		{Quantity{"rtt", "s"}, atClient, "first byte of the request sent to last byte of the response received"},
		{Quantity{"response_time", "s"}, atClient, "the same from the instant the request was due"},
		{Quantity{"serialization", "s"}, atBoth, "object to bytes, inside the stack, I/O excluded"},
		{Quantity{"deserialization", "s"}, atBoth, "bytes to object, inside the stack, I/O excluded"},
		{Quantity{"processing", "s"}, atServer, "the service's own work"},
		{Quantity{"total_time", "s"}, atBoth, "client: before serialization to after deserialization; server: request received whole to response handed on"},
		{Quantity{"message_size", "B"}, atClient, "body of the request"},
		{Quantity{"response_size", "B"}, atClient, "body of the response"},
		{Quantity{"throughput", "1/s"}, atClient, "requests answered a second"},
		{Quantity{"cpu", "s"}, atBoth, "CPU time of the side's processes per request"},
		{Quantity{"peak_rss", "B"}, atBoth, "largest resident memory of the side's processes"},
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
