package main

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"time"

	"edgegauge.example/edgegauge/internal/drive"
	"edgegauge.example/edgegauge/internal/plural"
	"edgegauge.example/edgegauge/internal/study"
)

// probeSettings are what else a probe asked, beside its load: what two of one service must have in common.
type probeSettings struct {
	WarmUp      int           `json:"warmup"`    // requests before each run
	Timeout     float64       `json:"timeout_s"` // of a request
	Headers     []probeHeader `json:"headers"`   // in their order
	ContentType string        `json:"content_type"`
	MostBody    int           `json:"max_body_B"`
	Expect      int           `json:"expect"` // status; 0: any of success
	Match       string        `json:"match"`
	QoS         int           `json:"qos"`
	Insecure    bool          `json:"insecure"`
}

// A probeHeader is a header that was added to each request. Its value may be a secret: what is kept of it tells nearly
// every other value apart, and is too short to find it by trying.
type probeHeader struct {
	Name   string `json:"name"`
	Digest string `json:"digest"` // the first two bytes of the value's SHA-256, in hex
}

// settingsOf are those of a job.
func settingsOf(j drive.Job) *probeSettings {
	s := probeSettings{WarmUp: j.WarmUp, Timeout: j.Timeout.Seconds(), Headers: []probeHeader{},
		ContentType: j.ContentType, MostBody: j.MostBody,
		Expect: j.Status, Match: j.Match, QoS: int(j.QoS), Insecure: j.Credentials.Insecure}
	for _, h := range j.Header {
		name, value, _ := strings.Cut(h, ":")
		sum := sha256.Sum256([]byte(strings.TrimSpace(value)))
		s.Headers = append(s.Headers, probeHeader{strings.TrimSpace(name), fmt.Sprintf("%x", sum[:2])})
	}
	return &s
}

// differences says in what the settings of now are others. Those of a file of an earlier edgegauge nobody knows.
func (s *probeSettings) differences(now *probeSettings) []string {
	if s == nil || now == nil {
		return nil
	}
	or := func(text, none string) string {
		if text == "" || text == "0" {
			return none
		}
		return text
	}
	seconds := func(s float64) string { return study.DurationText(time.Duration(s * float64(time.Second))) }
	var out []string
	for _, x := range []struct{ what, old, new string }{
		{"warm-up", plural.Count(s.WarmUp, "request"), plural.Count(now.WarmUp, "request")},
		{"time-out", seconds(s.Timeout), seconds(now.Timeout)},
		{"content type", or(s.ContentType, "none"), or(now.ContentType, "none")},
		{"largest answer", study.SizeText(int64(s.MostBody)), study.SizeText(int64(now.MostBody))},
		{"status expected", or(fmt.Sprint(s.Expect), "any of success"), or(fmt.Sprint(now.Expect), "any of success")},
		{"match", or(s.Match, "none"), or(now.Match, "none")},
		{"QoS", fmt.Sprint(s.QoS), fmt.Sprint(now.QoS)},
		{"insecure", fmt.Sprint(s.Insecure), fmt.Sprint(now.Insecure)},
		{"headers", namesOf(s.Headers), namesOf(now.Headers)},
	} {
		if x.old != x.new {
			out = append(out, fmt.Sprintf("%s: %s before, %s now", x.what, x.old, x.new))
		}
	}
	if namesOf(s.Headers) == namesOf(now.Headers) {
		for i, h := range s.Headers {
			if h.Digest != now.Headers[i].Digest {
				out = append(out, fmt.Sprintf("header %s: another value now", h.Name))
			}
		}
	}
	return out
}

// namesOf are the names of headers in words, in their order.
func namesOf(all []probeHeader) string {
	var names []string
	for _, h := range all {
		names = append(names, h.Name)
	}
	if names == nil {
		return "none"
	}
	return strings.Join(names, ", ")
}
