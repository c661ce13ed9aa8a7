package report

import (
	"fmt"
	"strings"

	"edgegauge.example/edgegauge/internal/measure"
)

// doubtWarmUp warns where requests of the warm-up failed, the first of them for the reason in first.
func (r *Report) doubtWarmUp(treatment int, trials []map[string]float64, first string) {
	failed, all := sum(trials, "warm_up_failures"), sum(trials, "warm_up_requests")
	if failed == 0 {
		return
	}
	why := ""
	if first != "" {
		why = "; first failure: " + first
	}
	r.warnCells(treatment, measure.Client, nil, fmt.Sprintf("%.0f of %.0f requests of the warm-up failed in %d of %d "+
		"trials, so the programs were less warm than the study says%s", failed, all, holding(trials, "warm_up_failures"),
		len(trials), why))
}

// doubtRequests warns where requests failed, or took more than one attempt, message or connection.
func (r *Report) doubtRequests(treatment int, trials []map[string]float64) {
	all := sum(trials, "requests")
	warn := func(of []string, format string, args ...any) {
		r.warnCells(treatment, measure.Client, of, fmt.Sprintf(format, args...))
	}
	if failed := sum(trials, "failures"); failed > 0 {
		warn(nil, "%.0f of %.0f requests failed; times and sizes exclude them", failed, all)
	}
	if again := sum(trials, "repetitions"); again > 0 {
		warn(nil, "%.0f of %.0f requests were sent a second time, because the server closed their connection: "+
			"their times include the lost attempt, and the server may have served them twice", again, all)
	}
	surplus := sum(trials, "surplus_answers")
	if surplus > 0 {
		warn(timed, "%s", SurplusAnswers(int(surplus), int(all)))
	}
	if anew := sum(trials, "reconnects") - surplus; anew > mostReconnects*all {
		s := r.Treatments[treatment].setup
		ports := s == nil || !strings.HasPrefix(s.URL, "http")
		kept, why := Reconnected(anew, sum(trials, "failures"), all, ports)
		if !kept {
			why += ": this treatment is not keep-alive"
		}
		warn(timed, "%.0f of %.0f requests needed a new connection, %s; total and response time include connecting, "+
			"RTT does not", anew, all, why)
	}
	if n := sum(trials, "unsure_answers"); n > 0 {
		warn(nil, "%s", UnsureAnswers(int(n), int(all), "response_topic"))
	}
	if again := sum(trials, "retransmissions"); again > 0 {
		warn(timed, "the protocol retransmitted %.0f messages in %.0f requests: times include the wait before each", again,
			all)
	}
}

// Reconnected says why so many of all requests needed a new connection where one was to be kept, and whether those that
// failed may be why, since the request after one that timed out needs another: then connections were kept otherwise. A
// CoAP client, if it may be one, gives ports up, too.
func Reconnected(anew, failed, all float64, coap bool) (kept bool, why string) {
	if anew-failed <= mostReconnects*all {
		return true, fmt.Sprintf("as the one after a request that failed may (%.0f did)", failed)
	}
	why = "since the server had closed the one that was to be kept"
	if failed > 0 {
		why += ", or the request before had failed"
	}
	if coap {
		why += ", or a CoAP client left a port of which it had used half of the message IDs"
	}
	return false, why
}

// SurplusAnswers says that answers of so many requests had bytes beyond their length.
func SurplusAnswers(n, requests int) string {
	return fmt.Sprintf("%d of %d requests had an answer with bytes beyond its length, such as a body that is longer than "+
		"its Content-Length: the server violates HTTP (RFC 9112, section 6.3). The figures do not include the extra bytes, "+
		"and the client closes the connection, so that the next request opens another; have the server send the correct "+
		"length", n, requests)
}

// doubtKept warns where the kernel knows of more connections than a client was to make and keep, and the client says
// nothing of it.
func (r *Report) doubtKept(treatment int, trials []map[string]float64) {
	n, all, most, worst := 0, 0.0, 0.0, map[string]float64(nil)
	for _, m := range trials {
		more := unsaidConnections(m)
		if more > 0 {
			n, all = n+1, all+more
		}
		if more > most {
			most, worst = more, m
		}
	}
	if n == 0 {
		return
	}
	text := fmt.Sprintf("in %d of %d trials the client opened more connections than it should keep, at least %.0f "+
		"instead of %.0f, and did not report it: its round trips may include opening one, with all handshakes; find out who "+
		"closes them (edgegauge stacks check), or measure connection: per-request", n, holding(trials, "connections_had"),
		worst["connections_had"], worst["connections_asked"])
	r.warnCells(treatment, measure.Client, timed, text)
	if all > mostReconnects*sum(trials, "requests") {
		r.Alarms = append(r.Alarms, r.Treatments[treatment].Name()+": "+text)
	}
}

// doubtOpened warns where a client that is to open a connection for each request opened fewer, by its kernel's count.
func (r *Report) doubtOpened(treatment int, trials []map[string]float64) {
	n := holding(trials, "connections_lacking")
	if n == 0 {
		return
	}
	requests := 0.0
	for _, m := range trials {
		if m["connections_lacking"] > 0 {
			requests += m["requests"]
		}
	}
	text := fmt.Sprintf("in %d of %d trials the client opened fewer connections than it sent requests, by its kernel's "+
		"count: at least %.0f of %.0f requests used one that was open, so this is no connection: per-request; edgegauge "+
		"stacks check finds what is wrong", n, len(trials), sum(trials, "connections_lacking"), requests)
	r.warnCells(treatment, measure.Client, nil, text)
	r.Alarms = append(r.Alarms, r.Treatments[treatment].Name()+": "+text)
}

// unsaidConnections is how many connections a trial's client had beyond those that it was asked for, made anew as it
// says, or may have closed because a request failed.
func unsaidConnections(trial map[string]float64) float64 {
	return max(0, trial["connections_had"]-trial["connections_asked"]-max(trial["reconnects"], trial["repetitions"])-
		trial["failures"])
}

// UnsureAnswers says that answers over MQTT may be those of earlier requests, and what to set.
func UnsureAnswers(n, requests int, setting string) string {
	return fmt.Sprintf("%d of %d requests had an answer that may belong to an earlier request: that request was given "+
		"up, its answer may have come late on the same topic, and answers carry no correlation data. So all answers after "+
		"it may be off by one. Write {id} into %s, or have the service return the correlation data (MQTT 5)", n, requests,
		setting)
}
