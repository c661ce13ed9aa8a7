package labbench

import (
	"context"
	"fmt"
	"os/exec"
	"strings"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
)

// coapStudy has one client ask three servers in turn, so many requests at once: an echo whose body is
// 100 bytes of protobuf, confirmable. The fourth way is the bare exchange of as many
// bytes: its server makes two system calls and does nothing else.
const coapStudy = `study: coap
service: echo
n: 98
concurrency: %d
client: {device: local}
server: {device: local}
factors:
  way:
    - {name: coap-protobuf, client.stack: reference/coap-protobuf, server.stack: reference/coap-protobuf}
    - {name: californium, client.stack: reference/coap-protobuf, server.stack: californium}
    - {name: libcoap, client.stack: reference/coap-protobuf, server.stack: libcoap}
    - {name: floor-udp, client.stack: reference/floor-udp, server.stack: reference/floor-udp}
requests: 60000
heap: 128MB
design: {replications: 10, warmup: 30000}
responses: [cpu]
timeouts: {ready: 60s, request: 10s, trial: 5m}
`

// coapAtOnce is how many requests are under way where a server finds several at a time.
const coapAtOnce = 32

// coapRows compare requests per second of the server's processor time.
func coapRows(ctx context.Context, b *Bench) ([]Row, error) {
	build := exec.CommandContext(ctx, b.Exe,
		append([]string{"stacks", "build", "californium", "libcoap"}, b.stackFlags()...)...)
	if out, err := build.CombinedOutput(); err != nil {
		return []Row{missing("requests per CPU second compared with Californium's and libcoap's", "≥ 3, ≥ 2",
			strings.TrimSpace(string(out)))}, nil
	}
	rows, err := b.coapServers(ctx, 1)
	if err != nil {
		return rows, err
	}
	rows[0].How = "a study in the lab: echo of 100 B, confirmable, one client asks the three servers; 10 randomized " +
		"blocks of 60,000 requests after 30,000 " +
		"of warm-up; ratio of the servers' CPU time per request, all threads, paired by block with its t interval"
	many, err := b.coapServers(ctx, coapAtOnce)
	if err != nil {
		return rows, err
	}
	for i := range many {
		many[i].Figure += fmt.Sprintf(", %d at once", coapAtOnce)
	}
	many[0].How = fmt.Sprintf("the same with %d requests at once, each from a port of its own: a server finds several "+
		"datagrams at a time", coapAtOnce)
	return b.coapClients(ctx, append(rows, many...))
}

// coapServers compares the servers, asked so many requests at once.
func (b *Bench) coapServers(ctx context.Context, concurrency int) (rows []Row, err error) {
	run, err := b.run(ctx, fmt.Sprintf(coapStudy, concurrency))
	if err != nil {
		return nil, err
	}
	defer run.forget()
	all, err := run.rows()
	if err != nil {
		return nil, err
	}
	for _, p := range []struct {
		name  string
		bound bound
	}{{"californium", bound{value: 3}}, {"libcoap", bound{value: 2}}} {
		theirs, ours := paired(all, p.name, "coap-protobuf", measure.Server, "cpu")
		c, err := stat.RatioPaired(theirs, ours, 0.95)
		if err != nil {
			return rows, fmt.Errorf("beside %s: %w", p.name, err)
		}
		rows = append(rows, Row{Figure: "requests per CPU second of coap-protobuf's server, over " + p.name + "'s",
			Wanted:   p.bound.String(),
			Measured: interval(c.Estimate, c.Lo, c.Hi), Verdict: p.bound.verdict(c.Estimate, c.Lo, c.Hi)})
	}
	theirs, ours := paired(all, "libcoap", "floor-udp", measure.Server, "cpu")
	c, err := stat.RatioPaired(theirs, ours, 0.95)
	if err != nil {
		return rows, fmt.Errorf("floor-udp beside libcoap: %w", err)
	}
	return append(rows, Row{Figure: "the same, if a server only received and sent (floor-udp)",
		Measured: interval(c.Estimate, c.Lo, c.Hi)}), nil
}

// clientStudy has three clients ask one server in turn.
const clientStudy = `study: coapclients
service: echo
n: 98
server: {device: local, stack: reference/coap-protobuf}
factors: {client.stack: [reference/coap-protobuf, californium, libcoap]}
requests: 60000
heap: 128MB
design: {replications: 10, warmup: 30000}
responses: [cpu]
timeouts: {ready: 60s, request: 10s, trial: 5m}
`

// coapClients compares requests per second of the client's processor time.
func (b *Bench) coapClients(ctx context.Context, rows []Row) ([]Row, error) {
	run, err := b.run(ctx, clientStudy)
	if err != nil {
		return rows, err
	}
	defer run.forget()
	all, err := run.rows()
	if err != nil {
		return rows, err
	}
	at, limit := len(rows), bound{value: 1}
	for _, p := range []string{"californium", "libcoap"} {
		theirs, ours := paired(all, p, "coap-protobuf", measure.Client, "cpu")
		c, err := stat.RatioPaired(theirs, ours, 0.95)
		if err != nil {
			return rows, fmt.Errorf("beside %s's client: %w", p, err)
		}
		rows = append(rows, Row{Figure: "requests per CPU second of coap-protobuf's client, over " + p + "'s",
			Wanted: limit.String(), Measured: interval(c.Estimate, c.Lo, c.Hi), Verdict: limit.verdict(c.Estimate, c.Lo, c.Hi)})
	}
	rows[at].How = "the same with one server, reference/coap-protobuf, and three clients; records kept as in every trial"
	return rows, nil
}
