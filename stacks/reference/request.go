package reference

import (
	"encoding/json"
	"fmt"

	"edgegauge.example/edgegauge/internal/drive"
	"edgegauge.example/edgegauge/internal/stack"
)

// requester is the client that asks a service which is already running what a study
// describes. It is no stack: it knows no service, encoding or message.
const requester = Prefix + "request"

// Requester describes that client. It has no server.
func Requester() stack.Description {
	return stack.Description{Name: requester,
		Title:   "requests that a study describes, to a service that is already running",
		Version: goVersion(), Language: "Go",
		Serves: []stack.Offer{{Sides: []string{"client"}, Transports: []string{"http", "http2", "http3", "grpc", "coap",
			"coap-tcp", "mqtt5", "mqtt311"}}}}
}

// request answers one "call" with a request in it, and then runs what it is asked.
func (p *program) request() error {
	var s stack.Call
	if err := p.read("call", &s); err != nil {
		return err
	}
	var job drive.Job
	if err := json.Unmarshal(s.Request, &job); err != nil {
		return fmt.Errorf("call: request: %w", err)
	}
	c, err := job.Call()
	if err != nil {
		return err
	}
	job.Largest = max(1, len(job.Body))
	if s.Population != nil {
		return p.populate(s, job.Spec, c, job.Status)
	}
	_, err = p.answerRuns(s, job.Spec, c) // the kind of a requester is none, and it takes no other line
	return err
}
