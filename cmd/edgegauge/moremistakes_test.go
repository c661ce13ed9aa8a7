package main

import "strings"

// moreMistakes are others, of people who came later.
var moreMistakes = []mistake{
	// units and numbers
	{"probe http://127.0.0.1:1/ --timeout 5", "", "--timeout 5 has no unit … --timeout 5s"},
	{"probe http://127.0.0.1:1/ --rate 10/s", "", `--rate "10/s" is not a number; write, for example, --rate 100`},
	{"probe http://127.0.0.1:1/ --rate -5", "", "--rate -5; write requests per second, such as 100"},
	{"probe http://127.0.0.1:1/ --requests -1", "", "-1 requests; write 1 or more"},
	{"probe http://127.0.0.1:1/ --duration -3s", "", "the duration -3s is negative; write, for example, 10s"},
	{"probe http://127.0.0.1:1/ --concurrency 0", "", "--concurrency 0; write 1 or more"},
	{"choose old --minimize rtt --require rtt.p955<100ms", "", `unknown figure "p955"; available: mean, median, p95`},
	{"forecast old --battery 2xAA --link nb-iot --period 1", "", "--period 1 has no unit … --period 1s"},
	{"forecast old --battery 2xAA --link nb-iot", "", "--period is missing … --period 1h"},
	{"check s.yaml", one + "timeouts: {request: 5 sec}\n", `s.yaml:5:21: invalid request "5 sec"; write a duration such as`},
	{"check s.yaml", one + "timeouts: {request: 5}\n", `s.yaml:5:21: … give its unit, such as 5ms or 5s`},
	{"check s.yaml", one + "size: 100 kb\n", "s.yaml:5:7: … 100kB (1000 B each)"},
	{"check s.yaml", one + "requests: -5\n", "s.yaml:5:11: … write 1 to"},
	{"check s.yaml", one + "requests: 1e3\n", "s.yaml:5:11: … write digits only"},
	{"check s.yaml", one + "design: {precision: 200%, replications: 3}\n",
		"s.yaml:5:21: … write a share between 0 and 1, or between 0% and 100%"},
	{"check s.yaml", one + "design: {warmup: 5 requests}\n",
		"s.yaml:5:18: … write a number alone, such as 5, or a duration such as 5s"},
	// names
	{"links NB-IOT", "", `unknown link "NB-IOT"; did you mean nb-iot?`},
	{"stacks new other --lang javascript", "", `no skeleton in "javascript"; did you mean node?`},
	{"stacks new other --lang C++", "", "did you mean c?"},
	{"devices build raspberry-pi-9", "", `unknown emulated device "raspberry-pi-9" … devices list`},
	{"devices check raspberry-pi", "", "did you mean raspberry-pi-1?"},
	{"devices check ssh://", "", `invalid board "ssh://"; write ssh://user@host`},
	{"forecast old --battery 2xAAA --link nb-iot --period 1h", "", "did you mean 2xAA?"},
	{"forecast old --battery 2xAA --link nbiot --period 1h", "", `--link: unknown radio "nbiot"; did you mean nb-iot?`},
	{"history old --response latency", "", "did you mean rtt or response_time?"},
	{"completion tcsh", "", "did you mean edgegauge completion bash … or edgegauge completion zsh?"},
	{"help quickstart", "", "did you mean edgegauge run quickstart?"},
	{"schema x", "", `no schema of "x"; write study, radio or battery`},
	{"bench nosuch", "", `unknown figure "nosuch"; available: drive`},
	{"check s.yaml", one + "Requests: 5\n", "s.yaml:5:1: … did you mean requests?"},
	{"check s.yaml", one + "service: monitor\n", "s.yaml:5:1: … twice"},
	// types and forms
	{"check s.yaml", one + "requests: [5, 10]\n", "s.yaml:5:11: requests is a list … factors: {requests: [5, 10]}"},
	{"check s.yaml", one + "factors: [stack]\n", "s.yaml:5:10: … write a mapping such as {stack: [a, b]}"},
	{"check s.yaml", one + "link: [lte-m, wifi]\n", "s.yaml:5:7: … factors: {link: [lte-m, wifi]}"},
	{"check s.yaml", "study: s\nservice: echo\nn: 5\nstack: [rest-json, soap]\n",
		"s.yaml:4:8: … factors: {stack: [rest-json, soap]}"},
	{"check s.yaml", "study: s\nservice: echo\nn: 5\nfactors: {stack: []}\n", "s.yaml:4:18: … list at least two, or remove it"},
	{"check s.yaml", "study: s\nservice: echo\nn: 5\n stack: rest-json\n",
		"s.yaml:4:7: not YAML … indent the keys of a mapping alike"},
	{"check s.yaml", "study: \"s\nservice: echo\n", "not YAML"},
	{"check s.yaml", "- study: s\n", "s.yaml:1:1: … write keys and values"},
	{"check good.yaml --set requests='5'", "", "without quotes"},
	{"check good.yaml --set =5", "", `"=5" sets nothing; write KEY=VALUE`},
	{"check good.yaml --set warmup=100", "", "did you mean design.warmup? write --set design.warmup=…"},
	{"run good.yaml --quiet=maybe", "", `--quiet "maybe" is not true or false; write --quiet alone`},
	// files, folders, results
	{"history nosuch", "", "nosuch: no such folder; name a directory that edgegauge run wrote"},
	{"analyze table.tsv --response rtt --by stack", "", "not separated by commas; write --separator ';' or … tab"},
	{"analyze table.csv --response rt --by stack", "", `no column "rt" (--response); there are stack, block, rtt`},
	{"packets good.yaml", "", "not a pcap or pcapng capture"},
	{"publish old --out old", "", "old exists already; remove it"},
	{"confirm old", "", "old is no confirmation; write edgegauge confirm OLD NEW"},
	{"web nosuch", "", "nosuch: no such folder"},
	{"choose good.yaml --minimize rtt", "", "good.yaml is a study, not results"},
	// addresses
	{"probe ftp://127.0.0.1/", "", `scheme "ftp" is unsupported; supported: http`},
	{"probe grpc://127.0.0.1:1/", "", "write http:// with --protocol grpc"},
	{"probe localhost:8080", "", `"localhost:8080" is not a URL; write http://localhost:8080`},
	{"probe http://", "", "no host; write it behind ://"},
	{"probe http://127.0.0.1:99999/", "", "invalid port 99999; write 1 to 65535"},
	{"probe http://127.0.0.1:80a/", "", `invalid port ":80a" after host; write, for example, http://host:8080/path`},
	{"web --listen 127.0.0.1", "", "--listen 127.0.0.1: write ADDRESS:PORT, such as 127.0.0.1:8642"},
	{"run good.yaml --benches nosuch", "", "--benches with names needs --creds"},
	{"worker", "", "a worker needs --creds"},
	{"capacity good.yaml", "", `--slo is missing; write, for example, --slo "response_time p99 < 200ms, failed < 1%"`},
}

// nobodyAnswers are addresses where nothing answers as asked: no mistake of the command line, so the exit code is 3.
// PLAIN is a server without TLS.
var nobodyAnswers = []struct{ args, want string }{
	{"probe http://127.0.0.1:1/", "http://127.0.0.1:1/: connect to 127.0.0.1:1: connection refused; is the server up?"},
	{"probe https://PLAIN/", "what listens there speaks no TLS: write http://"},
	{"probe http://no-such-host.invalid/", "no host is called no-such-host.invalid; check the name, or write an address"},
	{"devices check ssh://no-such-host.invalid", "no host is called no-such-host.invalid; check the name"},
	{"probe mqtt://127.0.0.1:1/x", "connection refused; is the server up?"},
}

// separated is a table in another form.
var separated = strings.ReplaceAll("stack,block,rtt\na,1,1.0\na,2,1.1\nb,1,2.0\nb,2,2.2\n", ",", "\t")
