package main

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// harmlessFlags are those that nothing else makes meaningless, and whose values are all of use or checked elsewhere.
var harmlessFlags = []string{"help", "runs", "rate", "warmup", "timeout", "cpu", "json", "connection", "strict",
	"trust", "set", "length", "precision", "budget", "most", "blocks"}

// vainLines are command lines with a flag that nobody would look at, a condition that does not depend on what is
// measured, or what no answer can be; ~ is a space within an argument.
var vainLines = []struct{ args, want string }{
	{"--content-type text/plain", "--content-type is that of a body, and there is none; add --body FILE, or leave it " +
		"out"},
	{"--method POST --content-type text/plain", "--content-type is that of a body"},
	{"--body own.json --content-type text/plain --header content-type:~a/b", "both say the Content-Type"},
	{"--header content-type:~a/b --content-type text/plain --protocol grpc", "both say the Content-Type"},
	{"mqtt://127.0.0.1:1/x --protocol mqtt311 --body own.json --content-type a/b", "MQTT 3.1.1 has no place for it"},
	{"https://127.0.0.1:1/ --ca ca.pem --insecure", "--insecure accepts any certificate, so that --ca means nothing"},
	{"https://127.0.0.1:1/ --ca missing.pem", "--ca: missing.pem cannot be read: no such file or directory"},
	{"mqtts://127.0.0.1:1/x --ca missing.pem", "--ca: missing.pem cannot be read"},
	{"https://127.0.0.1:1/ --ca own.json", "--ca own.json contains no certificate; name a PEM file"},
	{"https://127.0.0.1:1/ --ca .", "--ca: . cannot be read: is a directory"},
	{"http://127.0.0.1:1/?a=b~c", "the query has a space; write %20 for it"},
	{"http://127.0.0.1:1/?a=b#c", "what stands behind # is not sent to a server; leave it out, or write %23"},
	{"coap://127.0.0.1:1/a#c", "what stands behind # is not sent"},
	{"mqtt://127.0.0.1:1/a#c", "what stands behind # is not sent"},
	{"mqtt://127.0.0.1:1/a?b=c", "what stands behind ? is not sent to a broker"},
	{"mqtt://127.0.0.1:1/a --topic b --response-topic c", "--topic names the topic, so that a in the URL means " +
		"nothing"},
	{"--expect 99", "--expect 99 is no status of an HTTP response; write 200 to 599"},
	{"--expect 0", "--expect 0 is no status; write one such as 200, or leave it out"},
	{"--expect 100", "--expect 100 is no status"}, // an interim response is not the one that is waited for
	{"--expect 600", "--expect 600 is no status"},
	{"--expect -200", "--expect -200 is no status"},
	{"coap://127.0.0.1:1/a --expect 99", "--expect 99 is no code of a CoAP response; write one such as 205, for 2.05"},
	{"coap://127.0.0.1:1/a --expect 232", "--expect 232 is no code of a CoAP response"},
	{"mqtt://127.0.0.1:1/a --expect 200", "--expect means nothing to mqtt://127.0.0.1:1/a: answers over MQTT"},
	{"--method HEAD --match ok", "--match: an answer to HEAD has no body to match"},
	{"--expect 204 --match ok", "--match: an answer with status 204 has no body to match"},
	{"--seed 0 --arrival poisson --rate 5", "--seed 0 would be another one in each probe"},
	{"--seed 5 --arrival constant --rate 5", "--seed is of random arrivals; add --arrival poisson"},
	{"--qos 0", "--qos means nothing to http://127.0.0.1:1/; leave it out"},
	{"--fail-if failures>100%", `"failures>100%" can never be met: no share is above 100 %; write a lower bound`},
	{"--fail-if failures>150%", `"failures>150%" can never be met`},
	{"--fail-if retries>100%", `"retries>100%" can never be met`},
	{"--fail-if failures<0", `"failures<0" can never be met: no figure is below 0; write a higher bound`},
	{"--fail-if p99<0ms", `"p99<0ms" can never be met: no figure is below 0`},
	{"--fail-if mean>=0ms", `"mean>=0ms" is always met: no figure is below 0; write a bound above 0, or > for >=`},
	{"--fail-if failures<=100%", `"failures<=100%" is always met: no share is above 100 %; write a lower bound`},
	{"--fail-if failures>6000", `"failures>6000" can never be met: all runs together have at most 6000 requests`},
	{"--fail-if failures>=21 --requests 10 --runs 2", "all runs together have at most 20 requests"},
	{"--fail-if failures<21 --requests 10 --runs 2", `"failures<21" is always met: all runs together have at most 20`},
	{"--fail-if rate>100 --rate 100", `"rate>100" can never be met: no more than --rate 100 are asked for`},
	{"--fail-if rate<101 --rate 100", `"rate<101" is always met: no more than --rate 100 are asked for`},
}

// mayBe are command lines beside those, of which nothing is said before somebody is asked.
var mayBe = []string{
	"--body own.json --content-type text/plain", "--protocol grpc --content-type application/grpc+json",
	"http://127.0.0.1:1/?a=b%20c", "--header content-type:~a/b", "--expect 304",
	"coap+tcp://127.0.0.1:1/a --expect 205",
	"--method HEAD --match ^$", "--seed 1 --arrival poisson --rate 5", "--fail-if failures>=100%",
	"--fail-if failures>99%", "--fail-if failures<100%", "--fail-if failures>=6000", "--fail-if failures<=0",
	"--fail-if rate<100 --rate 100", "--fail-if rate<900 --rate 100 --arrival poisson", "--fail-if max>0ms",
	"mqtt://127.0.0.1:1/ --topic a --response-topic b --qos 0",
}

// No flag of probe and capacity is taken and then dropped without a word.
func TestNoFlagIsTakenInVain(t *testing.T) {
	t.Chdir(t.TempDir())
	o := own{dir: "."}
	o.write(t, "own.json", "{}\n")
	o.write(t, "ca.pem", "no certificate is looked for\n")
	line := func(args string) []string {
		words := strings.Split(args, " ")
		for i := range words {
			words[i] = strings.ReplaceAll(words[i], "~", " ")
		}
		if !strings.Contains(words[0], "://") {
			words = append([]string{"http://127.0.0.1:1/"}, words...)
		}
		return append([]string{"probe"}, words...)
	}
	for _, tt := range vainLines {
		_, code, err := inProcess(t.Context(), line(tt.args)...)
		if code != exitUsage || err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: exit code %d, %v; want %d, %q", tt.args, code, err, exitUsage, tt.want)
		}
	}
	for _, args := range mayBe {
		if _, code, err := inProcess(t.Context(), line(args)...); code == exitUsage {
			t.Errorf("%s: exit code %d, %v", args, code, err)
		}
	}
	eachCommand(newRoot(), func(c *cobra.Command) {
		verb := verbOf(c)
		if verb != "probe" && verb != "capacity" {
			return
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Value.Type() == "string" {
				args := []string{verb, "http://127.0.0.1:1/", "--" + f.Name + "="}
				_, code, err := inProcess(t.Context(), args...)
				if code != exitUsage || err == nil || !strings.Contains(err.Error(), "--"+f.Name+" is empty") {
					t.Errorf("%s --%s '': exit code %d, %v", verb, f.Name, code, err)
				}
				return
			}
			said := slices.ContainsFunc(vainLines, func(v struct{ args, want string }) bool {
				return strings.Contains(v.args, "--"+f.Name)
			})
			zero := slices.Contains([]string{"requests", "duration", "max-body", "concurrency", "period", "late"},
				f.Name)
			if !said && !zero && !slices.Contains(harmlessFlags, f.Name) {
				t.Errorf("edgegauge %s --%s: nobody has asked when it means nothing", verb, f.Name)
			}
		})
	})
}

// Connections that no request needs are said: they are made all the same.
func TestConnectionsWithoutARequest(t *testing.T) {
	t.Parallel()
	o := newOwn(t)
	s := httptest.NewServer(http.NotFoundHandler())
	defer s.Close()
	for requests, want := range map[string]bool{"3": true, "4": false} {
		out, code := o.run(t, "probe", s.URL, "--requests", requests, "--warmup", "0", "--runs", "2", "--concurrency",
			"4", "--expect", "404")
		said := strings.Contains(strings.Join(strings.Fields(out), " "),
			"warning: a run has 3 requests and --concurrency 4 connections: 1 connection carried none of them")
		if code != exitDone || said != want {
			t.Errorf("%s requests: exit code %d: %s", requests, code, out)
		}
	}
}
