package main

import (
	"cmp"
	"crypto/x509"
	"errors"
	"fmt"
	"math"
	"net/url"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"edgegauge.example/edgegauge/internal/drive"
	"edgegauge.example/edgegauge/internal/kernel"
)

// emptied refuses a flag whose value is written and empty, as of a variable of a script that is not set: it would be
// taken for one that is left out.
func emptied(c *cobra.Command) (err error) {
	c.Flags().Visit(func(f *pflag.Flag) {
		if err == nil && f.Value.Type() == "string" && f.Value.String() == "" {
			err = exit{exitUsage, fmt.Errorf("--%s is empty; write a value, or leave it out", f.Name)}
		}
	})
	return err
}

// zeros refuses what is written and stands for nothing, or for something else: left out, a flag has a default.
func (p *probe) zeros(given func(string) bool) error {
	switch {
	case given("requests") && p.job.Requests == 0:
		return errors.New("--requests 0; write 1 or more, or leave it out for 1000, or for as many as --duration takes")
	case given("duration") && p.job.Duration == 0:
		return errors.New("--duration 0s; write more, such as 10s, or leave it out")
	case given("max-body") && p.job.MostBody == 0:
		return errors.New("--max-body 0; write 1 to 1 GiB, in bytes")
	case given("expect") && p.job.Status == 0:
		return errors.New("--expect 0 is no status; write one such as 200, or leave it out")
	case given("seed") && p.job.Arrivals != drive.Random:
		return errors.New("--seed is of random arrivals; add --arrival poisson, or leave it out")
	case given("seed") && p.job.Seed == 0:
		return errors.New("--seed 0 would be another one in each probe; write 1 or more, or leave it out")
	case given("qos") && !strings.HasPrefix(p.job.URL, "mqtt"):
		return fmt.Errorf("--qos means nothing to %s; leave it out", p.job.URL)
	}
	return nil
}

// vain refuses what nobody would look at, or what no answer can be.
func (p *probe) vain() error {
	u, err := url.Parse(p.job.URL)
	if err != nil {
		return nil // Check says what is wrong with it
	}
	mqtt, path := strings.HasPrefix(u.Scheme, "mqtt"), strings.Trim(u.Path, "/")
	switch c := p.job.Credentials; {
	case strings.Contains(p.job.URL, "#"):
		return fmt.Errorf("%s: what stands behind # is not sent to a server; leave it out, or write %%23 for #",
			p.job.URL)
	case mqtt && strings.Contains(p.job.URL, "?"):
		return fmt.Errorf("%s: what stands behind ? is not sent to a broker; leave it out", p.job.URL)
	case mqtt && p.job.Topic != "" && path != "":
		return fmt.Errorf("--topic names the topic, so that %s in the URL means nothing; leave one of them out", path)
	case p.job.ContentType != "" && p.job.Protocol == drive.MQTT311:
		return errors.New("--content-type: MQTT 3.1.1 has no place for it; write --protocol mqtt5, or leave it out")
	case p.job.ContentType != "" && p.bodyFile == "" && p.job.Protocol != drive.GRPC:
		return errors.New("--content-type is that of a body, and there is none; add --body FILE, or leave it out")
	case p.job.ContentType != "" && hasHeader(p.job.Header, "Content-Type"):
		return errors.New("--content-type and --header both say the Content-Type; leave one of them out")
	case c.CA != "" && c.Insecure:
		return errors.New("--insecure accepts any certificate, so that --ca means nothing; leave one of them out")
	}
	return cmp.Or(p.authorities(), p.unheardOf(u.Scheme), p.matchesNothing())
}

func hasHeader(lines []string, want string) bool {
	for _, line := range lines {
		if name, _, _ := strings.Cut(line, ":"); strings.EqualFold(strings.TrimSpace(name), want) {
			return true
		}
	}
	return false
}

// authorities refuses a file of --ca that no driver could use.
func (p *probe) authorities() error {
	file := p.job.Credentials.CA
	if file == "" {
		return nil
	}
	pem, err := kernel.ReadFile(file, 16<<20)
	if err != nil {
		return fmt.Errorf("--ca: %w", unreadable(file, err))
	}
	if !x509.NewCertPool().AppendCertsFromPEM(pem) {
		return fmt.Errorf("--ca %s contains no certificate; name a PEM file", file)
	}
	return nil
}

// unheardOf refuses a status of --expect that no answer has.
func (p *probe) unheardOf(scheme string) error {
	class, detail := p.job.Status/100, p.job.Status%100
	coap := strings.HasPrefix(scheme, "coap")
	switch {
	case p.job.Status == 0:
	case strings.HasPrefix(scheme, "mqtt"):
		return fmt.Errorf("--expect means nothing to %s: answers over MQTT have no status; leave it out", p.job.URL)
	case coap && (class < 2 || class > 5 || detail > 31):
		return fmt.Errorf("--expect %d is no code of a CoAP response; write one such as 205, for 2.05", p.job.Status)
	case !coap && (class < 2 || class > 5):
		return fmt.Errorf("--expect %d is no status of an HTTP response; write 200 to 599", p.job.Status)
	}
	return nil
}

// matchesNothing refuses an expression for bodies of answers that never have one.
func (p *probe) matchesNothing() error {
	match, err := regexp.Compile(p.job.Match)
	if err != nil || match.MatchString("") { // Check says what is wrong with it
		return nil
	}
	if p.job.Method == "HEAD" {
		return errors.New("--match: an answer to HEAD has no body to match; write --method GET, or leave --match out")
	}
	if p.job.Status == 204 || p.job.Status == 304 {
		return fmt.Errorf("--match: an answer with status %d has no body to match; leave --match or --expect out",
			p.job.Status)
	}
	return nil
}

// settled refuses a condition that is met, or is not, whatever is measured.
func (p *probe) settled(b bound) error {
	highest, limit := math.Inf(1), ""
	n, known := p.most()
	switch {
	case b.counts() && b.of == "share":
		highest, limit = 1, "no share is above 100 %"
	case b.counts() && known && p.job.Arrivals != drive.Random:
		highest = float64(n * p.runs)
		limit = fmt.Sprintf("all runs together have at most %d requests", n*p.runs)
	case b.figure == "rate" && p.job.Rate > 0 && p.job.Arrivals != drive.Random:
		highest, limit = p.job.Rate, fmt.Sprintf("no more than --rate %g are asked for", p.job.Rate)
	}
	never := "no figure is below 0"
	switch beyond := highest < b.at || highest == b.at && !b.equal; {
	case b.less && b.at <= 0 && !b.equal:
	case !b.less && beyond:
		never = limit
	case !b.less && b.at == 0 && b.equal:
		return fmt.Errorf("%q is always met: %s; write a bound above 0, or > for >=", b.text, never)
	case b.less && (highest < b.at || highest == b.at && b.equal):
		return fmt.Errorf("%q is always met: %s; write a lower bound", b.text, limit)
	default:
		return nil
	}
	if b.less {
		return fmt.Errorf("%q can never be met: %s; write a higher bound", b.text, never)
	}
	return fmt.Errorf("%q can never be met: %s; write a lower bound", b.text, never)
}
