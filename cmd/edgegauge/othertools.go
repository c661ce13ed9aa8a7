package main

import (
	"github.com/spf13/cobra"

	"edgegauge.example/edgegauge/internal/meant"
)

// otherVerbs are what other programs call what is done here.
var otherVerbs = map[string]string{
	"measure": "run", "start": "run", "execute": "run", "benchmark": "run", "test": "run", "resume": "run",
	"studies": "run", "validate": "check", "lint": "check", "verify": "check",
	"show": "report", "summary": "report", "summarize": "report", "results": "report", "result": "report",
	"html": "report", "plot": "report", "print": "report", "export": "publish", "pack": "publish", "archive": "publish",
	"diff": "compare", "recommend": "choose", "rank": "choose", "best": "choose", "stats": "analyze", "anova": "analyze",
	"predict": "forecast", "battery": "forecast", "batteries": "forecast", "radios": "forecast",
	"serve": "web", "server": "web", "dashboard": "web", "ui": "web", "view": "web", "open": "web",
	"load": "probe", "attack": "probe", "get": "probe", "curl": "probe", "ping": "probe", "pcap": "packets",
	"trend": "history", "init": "stacks new", "new": "stacks new", "create": "stacks new", "meters": "devices",
	"stacks add": "stacks new", "stacks create": "stacks new", "stacks init": "stacks new", "stacks test": "stacks check",
	"stacks verify": "stacks check", "stacks install": "stacks build", "stacks compile": "stacks build",
	"benches ls": "benches list", "stacks ls": "stacks list", "devices ls": "devices list",
}

// otherFlags are those of wrk, hey, ab, curl and others, for what probe has.
var otherFlags = map[string]string{
	"n": "requests", "total": "requests", "c": "concurrency", "t": "concurrency", "connections": "concurrency",
	"threads": "concurrency", "clients": "concurrency", "users": "concurrency", "z": "duration", "time": "duration",
	"R": "rate", "rps": "rate", "qps": "rate", "X": "method", "m": "method", "request": "method", "H": "header",
	"headers": "header", "T": "content-type", "D": "body", "data": "body", "k": "insecure", "cacert": "ca",
	"repeat": "runs", "repetitions": "runs", "iterations": "runs", "replications": "runs", "assert": "fail-if",
	"threshold": "fail-if", "status": "expect",
}

// ofOtherTools says what stands here for a flag that many programs have; empty: nothing does.
func ofOtherTools(c *cobra.Command, name string) string {
	has := func(flag string) bool { return c.Flags().Lookup(flag) != nil }
	if flag := otherFlags[name]; flag != "" && has(flag) && !has("set") {
		return meant.Question("--" + flag)
	}
	set := map[string]string{
		"n": "requests=100", "requests": "requests=100", "c": "concurrency=8", "concurrency": "concurrency=8",
		"r": "rate=100", "rate": "rate=100", "d": "duration=10s", "duration": "duration=10s", "seed": "design.seed=7",
		"replications": "design.replications=5", "repetitions": "design.replications=5", "warmup": "design.warmup=100",
	}
	switch example, ok := set[name]; {
	case name == "o" && has("out"):
		return meant.Question("--out")
	case name == "q" && has("quiet"):
		return meant.Question("--quiet")
	case ok && has(name):
		return ""
	case ok && has("set"):
		return "a study says that; to override it here, write --set " + example
	case name == "dry-run" && c.Name() == "run":
		return "edgegauge check STUDY finds what would prevent a run, edgegauge plan STUDY prints its trials"
	case (name == "resume" || name == "continue") && has("out"):
		return "a run that was interrupted goes on when the same command is given again, with the same --out"
	case name == "out" && c.Name() == "plan":
		return "it prints CSV: edgegauge plan STUDY > plan.csv"
	case (name == "threshold" || name == "tolerance") && has("detect"):
		return "write --fail-if 'rtt > 5%' for a bound, or --detect 5% for the smallest difference of interest"
	case (name == "user" || name == "u") && c.Name() == "probe":
		return "write --header 'Authorization: Basic …'"
	case name == "port" && has("listen"):
		return meant.Question("--listen 127.0.0.1:8642")
	}
	return ""
}
