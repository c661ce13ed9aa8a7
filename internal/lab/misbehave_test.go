package lab

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"edgegauge.example/edgegauge/internal/device"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/study"
)

// A misbehaviour is one way in which a stack's program can be wrong, and the word
// of the verdict on it.
type misbehaviour struct {
	what  string
	spoil func(*fakeStack)
	want  string // in the reason; "valid": it does no harm
}

// asked are the stages at which a program answers, with the words for one that does not.
var asked = []struct{ at, who, didNot string }{
	{serving, "serve", `did not say "ready"`},
	{calling, "call", `did not say "ready"`},
	{warming, "call", "did not end its warm-up"},
	{forgets, "serve", "did not report on the warm-up"},
	{running, "call", "did not end its run"},
	{reporting, "serve", "did not report on the run"},
}

// protocolFaults are the ways in which an answer can be none, at every stage.
func protocolFaults() (all []misbehaviour) {
	for _, stage := range asked {
		blamed := "stacks/fake " + stage.who + " "
		for _, k := range []struct {
			what string
			does act
			want string
		}{
			{"prints a greeting", act{say: "Listening on port 80\n"},
				blamed + stage.didNot + ": violated the protocol"},
			{"prints an empty line", act{say: "\n"}, "violated the protocol"},
			{"prints binary", act{say: "\x00\xff\x1b[2J\n"}, "violated the protocol"},
			{"prints a line without end", act{say: strings.Repeat("x", 1<<20+70000)}, "a line longer than 1048576 bytes"},
			{"prints JSON without a type", act{say: "{}\n"}, "violated the protocol"},
			{"prints a list", act{say: "[]\n"}, "violated the protocol"},
			{"prints an unknown type", act{say: `{"type":"hello"}` + "\n"}, "violated the protocol"},
			{"cuts its answer and exits", act{say: `{"type":"ready","ur`, then: "exit"}, "it ended with status 3"},
			{"exits without a word", act{then: "exit"}, blamed + stage.didNot + ": it ended with status 3"},
			{"closes its output and stays", act{then: "shut"}, blamed + stage.didNot + ": closed its output without answering"},
			{"is silent", act{then: "hang"}, blamed + stage.didNot + ": "},
			{"refuses", act{say: `{"type":"error","message":"not today"}` + "\n"},
				blamed[:len(blamed)-1] + ": not today; see trials/"},
			{"refuses at length", act{say: `{"type":"error","message":"` + strings.Repeat("y", 900_000) + `"}` + "\n"},
				"(truncated: 900000 B in total)"},
		} {
			all = append(all, misbehaviour{"at " + stage.at + " a program " + k.what, func(s *fakeStack) {
				s.acts[stage.at] = k.does
				s.exits = [2]device.Exit{{Code: 3}, {Code: 3}}
			}, k.want})
		}
	}
	return all
}

// answers are wrong in what they say, each at its own stage.
func wrongAnswers() []misbehaviour {
	say := func(stage, text string) func(*fakeStack) {
		return func(s *fakeStack) { s.acts[stage] = act{say: text} }
	}
	client, server := soundRecords()
	end := endOf(fakeRequests, 0)
	return []misbehaviour{
		{"a sound stack", func(*fakeStack) {}, "valid"},
		{"a server without a URL", say(serving, `{"type":"ready"}`+"\n"), `no usable "url"`},
		{"a URL without a host", say(serving, `{"type":"ready","url":"http:///x"}`+"\n"), `no usable "url"`},
		{"a URL that is none", say(serving, `{"type":"ready","url":"nonsense"}`+"\n"), `no usable "url"`},
		{"a server that ends instead of being ready", say(serving, end), `"end" instead of "ready"`},
		{"a warm-up too short", say(warming, endOf(1, 0)), "1 requests instead of 2"},
		{"a warm-up too long", say(warming, endOf(3, 0)), "3 requests instead of 2"},
		{"a negative warm-up", say(warming, endOf(-2, 0)), `"end" says -2`},
		{"a warm-up that failed in part", say(warming, failedEnd(1, "answer is not sorted")), "valid"},
		{"a warm-up that failed whole", say(warming, failedEnd(2, "answer is not sorted")),
			"all 2 requests of the warm-up failed; first failure: answer is not sorted"},
		{"a warm-up that failed whole and does not say why", say(warming, failedEnd(2, "")), "the client does not say why"},
		{"a warm-up that failed at length", say(warming, failedEnd(2, strings.Repeat("w", 900_000))),
			"(truncated: 900000 B in total)"},
		{"a warm-up with more failures than requests", say(warming, failedEnd(3, "no")),
			`"end" says that 3 of 2 requests failed`},
		{"a warm-up of negative failures", say(warming, failedEnd(-1, "no")), `"end" says that -1 of 2 requests failed`},
		{"a warm-up of failures that are text", say(warming, `{"type":"end","count":2,"failed":"all"}`+"\n"),
			"violated the protocol"},
		{"a warm-up with records", say(warming, lines(client[:2])+endOf(2, 0)), "an unexpected record"},
		{"a warm-up that only the client knows of", say(forgets, endOf(0, 0)),
			"the client counted 2 requests of the warm-up, the server 0"},
		{"discarded records that come", say(forgets, lines(server[:2])+endOf(2, 0)), "an unexpected record"},
		{"a client whose search took a while", say(calling, toldPhase("ready", "discovery", 5_000_000)), "valid"},
		{"a negative search", say(calling, toldPhase("ready", "discovery", -5)), "a negative phase: discovery -5ns"},
		{"a search longer than the lab waited", say(calling, toldPhase("ready", "discovery", 25e9)),
			"discovery 25s, but it was called 0s ago on the lab's clock"},
		{"a description read for years", say(calling, toldPhase("ready", "metadata", 9e17)), "metadata 250000h, but"},
		{"a first request longer than the warm-up", say(warming, toldPhase("end", "first_invoke", 9e17)),
			"first_invoke 250000h, but"},
		{"a negative first request", say(warming, toldPhase("end", "first_invoke", -1)),
			"a negative phase: first_invoke -1ns"},
		{"a first request longer than the run", func(s *fakeStack) {
			s.acts[running] = act{say: lines(client) + strings.Replace(toldPhase("end", "first_invoke", 9e17), `:2,`, `:5,`, 1)}
		}, "first_invoke 250000h, but"},
		{"a client that reports nothing", say(running, endOf(0, 0)), "0 requests were recorded, 5 were requested"},
		{"a client that counts and records nothing", say(running, end), `0 records, but "end" says 5`},
		{"a client one short", say(running, lines(client[:4])+endOf(4, 0)), "4 requests were recorded, 5 were requested"},
		{"a client one too many", say(running, lines(append(client, measure.Exchange{Seq: 6}))+endOf(6, 0)),
			"more than 5 records"},
		{"a client whose end counts fewer", say(running, lines(client)+endOf(4, 0)), `5 records, but "end" says 4`},
		{"a client whose end counts more", say(running, lines(client)+endOf(6, 0)), `5 records, but "end" says 6`},
		{"a client of endless records", func(s *fakeStack) {
			s.acts[running] = act{say: strings.Repeat(lines(client[:1]), 100_000), then: "hang"}
		},
			"more than 5 records"},
		{"a server of endless records", func(s *fakeStack) {
			s.acts[reporting] = act{say: strings.Repeat(lines(server[:1]), 100_000), then: "hang"}
		},
			"more than 1010 records"},
		{"a server that saw nothing", say(reporting, endOf(0, 0)), "the client counted 5 requests, the server 0"},
		{"a server that saw less", say(reporting, lines(server[:3])+endOf(3, 0)),
			"the client counted 5 requests, the server 3"},
		{"a server that saw more", say(reporting, lines(append(server, measure.Exchange{Seq: 6, Total: 1}))+endOf(6, 0)),
			"the client counted 5 requests, the server 6"},
		{"a client out of CPU time's range", say(running, lines(client)+endOf(fakeRequests, math.MaxInt64)),
			"but the kernel counted 1s since it started"},
		{"a client of negative CPU time", say(running, lines(client)+endOf(fakeRequests, -1)), "-1ns of CPU time"},
		{"a server out of CPU time's range", say(reporting, lines(server)+endOf(fakeRequests, 9e18)), "the server reports"},
		{"records without an end", func(s *fakeStack) { s.acts[running] = act{say: lines(client), then: "hang"} },
			"the trial took longer than 1m (timeouts.trial)"},
		{"records without an end, then gone", func(s *fakeStack) { s.acts[running] = act{say: lines(client), then: "exit"} },
			"did not end its run"},
		{"a ready among the records", say(running, lines(client[:1])+`{"type":"ready"}`+"\n"), `"ready" among the records`},
		{"an error among the records", say(running, lines(client[:1])+`{"type":"error","message":"out of memory"}`+"\n"),
			"out of memory; see trials/"},
		{"a client that says something when it ends", say(ending+" client", "bye\n"), `"bye\n" after its last answer`},
		{"a server that says something when it ends", say(ending+" server", "bye\n"),
			`stacks/fake serve did not exit: violated the protocol`},
		{"a client that does not end", func(s *fakeStack) { s.acts[ending+" client"] = act{then: "hang"} },
			"stacks/fake call did not exit within 5s of the end of its input"},
		{"a server that does not end", func(s *fakeStack) { s.acts[ending+" server"] = act{then: "hang"} },
			"stacks/fake serve did not exit within 5s of the end of its input"},
		{"a client that closes its output and stays", func(s *fakeStack) { s.acts[ending+" client"] = act{then: "shut"} },
			"stacks/fake call did not exit within 5s"},
		{"a client that leaves processes", func(s *fakeStack) { s.exits[atClient].Orphans = 2 },
			"call left 2 processes behind"},
		{"a server that leaves a process", func(s *fakeStack) {
			s.exits[atServer].Orphans, s.exits[atServer].Left = 1, "4711 (sleep 10)"
		}, "serve left 1 process behind: 4711 (sleep 10); see"},
		{"a client that is gone when it is looked at", func(s *fakeStack) {
			s.usage = func(side int) (device.Usage, error) { return device.Usage{}, errFake }
		}, "ended in mid-trial: it is gone: it broke"},
		{"a server that is gone after the run", func(s *fakeStack) {
			n := 0
			s.usage = func(side int) (device.Usage, error) {
				if side != atServer {
					return device.Usage{}, nil
				}
				if n++; n > 1 {
					return device.Usage{}, errFake
				}
				return device.Usage{}, nil
			}
		}, "stacks/fake serve ended in mid-trial"},
	}
}

// toldPhase is a client's ready, or the end of a warm-up, with a phase.
func toldPhase(kind, phase string, ns int64) string {
	return fmt.Sprintf("{\"type\":%q,\"count\":%d,\"phases\":{%q:%d}}\n", kind, fakeWarmUp, phase, ns)
}

// failedEnd ends a warm-up of which requests failed.
func failedEnd(n int, why string) string {
	return fmt.Sprintf("{\"type\":\"end\",\"count\":%d,\"failed\":%d,\"first_failure\":%q}\n", fakeWarmUp, n, why)
}

// wrongRecords are one record of a side that cannot be, or all of them.
func wrongRecords() (all []misbehaviour) {
	type change struct {
		what string
		side measure.Side
		do   func(x *measure.Exchange)
		each bool // of all records, not the third only
		want string
	}
	const most = time.Duration(math.MaxInt64)
	C, S := measure.Client, measure.Server
	changes := []change{
		{"due before the run", C, func(x *measure.Exchange) { x.Due = -5 }, false, "due -5ns"},
		{"sent before the run", C, func(x *measure.Exchange) { x.Sent = -5 }, false, "sent -5ns"},
		{"done before the run", C, func(x *measure.Exchange) { x.Done = -5 }, false, "done -5ns"},
		{"sent before due", C, func(x *measure.Exchange) { x.Sent = x.Due - 1 }, false, "request 3: due"},
		{"done before sent", C, func(x *measure.Exchange) { x.Done = x.Sent - 1 }, false, "request 3: due"},
		{"no time between sent and done", C, func(x *measure.Exchange) { x.Done = x.Sent }, false, "request 3: due"},
		{"no total time", C, func(x *measure.Exchange) { x.Total = 0 }, false, "phases sum to 6µs, more than the total 0s"},
		{"phases beyond the total", C, func(x *measure.Exchange) { x.Serialization += 5000 }, false, "more than the total"},
		{"a connection beyond the total", C, func(x *measure.Exchange) { x.Connection = 2000 }, false, "more than the total"},
		{"nothing but zeros", C, func(x *measure.Exchange) { *x = measure.Exchange{Seq: x.Seq} }, true,
			"request 1: due 0s, sent 0s, done 0s"},
		{"all times in another unit", C, func(x *measure.Exchange) {
			for _, f := range []*time.Duration{&x.Due, &x.Sent, &x.Done, &x.Serialization, &x.Deserialization, &x.Total} {
				*f *= 1_000_000
			}
		}, true, "on the lab's clock"},
		{"serialization and deserialization that overflow together", C,
			func(x *measure.Exchange) { x.Serialization, x.Deserialization = 5e18, 5e18 }, false,
			"on the lab's clock"},
		{"all phases and the total at the limit", C, func(x *measure.Exchange) {
			x.Serialization, x.Deserialization, x.Total, x.Done = most, most, most, most
		}, true, "on the lab's clock"},
		{"seq 1 for all", C, func(x *measure.Exchange) { x.Seq = 1 }, true, "request 1 appears twice"},
		{"seq 0 for all", C, func(x *measure.Exchange) { x.Seq = 0 }, true, "a request has no seq, or seq 0"},
		{"one seq twice", C, func(x *measure.Exchange) { x.Seq = 2 }, false, "request 2 appears twice"},
		{"a seq beyond the number of requests", C, func(x *measure.Exchange) { x.Seq = 6 }, false,
			"the client has 5 records, but a seq of 6"},
		{"a huge seq", C, func(x *measure.Exchange) { x.Seq = 1 << 40 }, false, "a request has seq 1099511627776"},
		{"the largest seq", C, func(x *measure.Exchange) { x.Seq = math.MaxUint64 }, false,
			"a request has seq 18446744073709551615"},
		{"seqs out of order", C, func(x *measure.Exchange) { x.Seq = 6 - x.Seq }, true, "valid"},
		{"a negative size", C, func(x *measure.Exchange) { x.Out = -30 }, false, `a size "out" of -30 B`},
		{"a size at the limit", C, func(x *measure.Exchange) { x.In = math.MaxInt64 }, true,
			`a size "in" of 9223372036854775807 B`},
		{"other bytes than the server's", C, func(x *measure.Exchange) { x.Out++ }, false, "the client sent 151 B"},
		{"other bytes back", C, func(x *measure.Exchange) { x.In-- }, false, "received 99 B"},
		{"a failure", C, func(x *measure.Exchange) { x.Failure = "answer is not sorted" }, false,
			"1 of 5 requests failed; first failure: answer is not sorted"},
		{"nothing but failures", C, func(x *measure.Exchange) { x.Failure, x.Done = "no response within 1s", 0 }, true,
			"5 of 5 requests failed"},
		{"a failure without end", C, func(x *measure.Exchange) { x.Failure = strings.Repeat("z", 900_000) }, false,
			"(truncated: 900000 B in total)"},
		{"a failure with impossible times", C, func(x *measure.Exchange) { x.Failure, x.Sent = "no", most }, false,
			"on the lab's clock"},
		{"more under way than connections", C, func(x *measure.Exchange) {
			x.Due, x.Sent, x.Done, x.Total = 0, 1, 50_000, 60_000
		}, true, "the timestamps are inconsistent"},
		{"phases beyond the total", S, func(x *measure.Exchange) { x.Processing += 5000 }, false,
			"the server's record of request 3: phases sum to 5.5µs, more than the total 600ns"},
		{"a sensor beyond its processing", S, func(x *measure.Exchange) { x.Sensor = 9000 }, false,
			"a sensor's time of 9µs in a processing of 300ns"},
		{"one seq twice", S, func(x *measure.Exchange) { x.Seq = 2 }, false,
			"the server's record of request 2 appears twice"},
		{"seq 0 for all", S, func(x *measure.Exchange) { x.Seq = 0 }, true,
			"the server's record of a request has no seq, or seq 0"},
		{"seqs that go on from the warm-up", S, func(x *measure.Exchange) { x.Seq += fakeWarmUp }, true, "valid"},
		{"a negative size", S, func(x *measure.Exchange) { x.In = -1 }, false, `a size "in" of -1 B`},
		{"other bytes", S, func(x *measure.Exchange) { x.In++ }, true, "the server received 155 B"},
		{"no phases at all, as a floor", S, func(x *measure.Exchange) {
			*x = measure.Exchange{Seq: x.Seq, In: x.In, Out: x.Out}
		}, true, "valid"},
	}
	for i := range measure.Fields {
		f := &measure.Fields[i]
		if !f.Kept() || strings.HasSuffix(f.Column, "_B") {
			continue
		}
		for _, side := range []measure.Side{C, S} {
			huge := func(x *measure.Exchange) { *f.At(x) = 9e17 }
			changes = append(changes, change{"a huge " + f.Name, side, huge, false, "on the lab's clock"})
			if f.Name != "due" && f.Name != "sent" && f.Name != "done" {
				negative := func(x *measure.Exchange) { *f.At(x) = -7 }
				changes = append(changes, change{"a negative " + f.Name, side, negative, false, "a negative phase: " + f.Name})
			}
		}
	}
	for _, c := range changes {
		all = append(all, misbehaviour{fmt.Sprintf("a %s's records with %s", c.side, c.what), func(s *fakeStack) {
			client, server := soundRecords()
			xs, stage := client, running
			if c.side == S {
				xs, stage = server, reporting
			}
			for i := range xs {
				if c.each || i == 2 {
					c.do(&xs[i])
				}
			}
			s.acts[stage] = act{say: lines(xs) + endOf(len(xs), 0)}
		}, c.want})
	}
	return all
}

// wrongLines are records that are wrong, or only odd, as text.
func wrongLines() (all []misbehaviour) {
	sound := `{"type":"exchange","seq":3,"due":20000,"sent":20500,"done":25500,"serialization":400,"deserialization":600,"total":6500,"out":30,"in":20}`
	for _, l := range []struct{ what, line, want string }{
		{"spaces and an unknown field", `{ "type": "exchange", "new": {"a":[1]}, ` + sound[19:], "valid"},
		{"its type last", `{` + sound[19:len(sound)-1] + `,"type":"exchange"}`, "valid"},
		{"a field that is text", strings.Replace(sound, "20500", `"20500"`, 1), "violated the protocol"},
		{"a field with a fraction", strings.Replace(sound, "20500", "20500.5", 1), "violated the protocol"},
		{"a field that is no number", strings.Replace(sound, "20500", "NaN", 1), "violated the protocol"},
		{"a field beyond 64 bits", strings.Replace(sound, "20500", "99999999999999999999", 1), "violated the protocol"},
		{"a negative seq", strings.Replace(sound, `"seq":3`, `"seq":-3`, 1), "violated the protocol"},
		{"a list for a field", strings.Replace(sound, "20500", "[20500]", 1), "violated the protocol"},
		{"a failure that is no text", sound[:len(sound)-1] + `,"failure":7}`, "violated the protocol"},
		{"no bracket at its end", sound[:len(sound)-1], "violated the protocol"},
		{"two records on a line", sound + sound, "violated the protocol"},
		{"nothing but its type", `{"type":"exchange"}`, "a request has no seq, or seq 0"},
		{"a field twice", strings.Replace(sound, `"sent":20500`, `"sent":1,"sent":20500`, 1), "valid"},
		{"null for a field", strings.Replace(sound, `"serialization":400`, `"serialization":null`, 1), "valid"},
	} {
		all = append(all, misbehaviour{"a record with " + l.what, func(s *fakeStack) {
			client, _ := soundRecords()
			s.acts[running] = act{say: lines(client[:2]) + l.line + "\n" + lines(client[3:]) + endOf(fakeRequests, 0)}
		}, l.want})
	}
	return all
}

// Every kind of misbehaving stack gets its word, and leaves nothing behind.
func TestMisbehavingStacks(t *testing.T) {
	var all []misbehaviour
	for _, some := range [][]misbehaviour{protocolFaults(), wrongAnswers(), wrongRecords(), wrongLines()} {
		all = append(all, some...)
	}
	t.Setenv("TMPDIR", t.TempDir())
	what := map[string]bool{}
	for _, m := range all {
		if what[m.what] {
			t.Errorf("%s: twice in the table", m.what)
		}
		what[m.what] = true
		t.Run(m.what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := soundStack()
				m.spoil(s)
				if got := verdict(t, s); !says(got, m.want) {
					t.Errorf("got %.300q, want %q", got, m.want)
				} else if len(got) > mostReason+100 {
					t.Errorf("a reason of %d B", len(got))
				}
			})
		})
	}
	if least := 120; len(all) < least {
		t.Errorf("%d kinds, want %d at least", len(all), least)
	}
	t.Logf("%d kinds", len(all))
}

// What failed of a valid trial's warm-up is noted, and why is kept beside its logs.
func TestFailuresOfTheWarmUpAreKept(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	for _, failed := range []int{0, 1} {
		synctest.Test(t, func(t *testing.T) {
			s := soundStack()
			s.acts[warming] = act{say: failedEnd(failed, "answer is not sorted")}
			l, running := fakeLab(t, s, 1)
			defer l.Store.Close()
			if _, err := l.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			running.Wait()
			id := store.AttemptID{Trial: 1, Attempt: 1}
			noted, err := l.Store.Qualities()
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]float64{}
			for _, q := range noted[id] {
				got[q.Key] = q.Value
			}
			if got["warm_up_failures"] != float64(failed) || got["warm_up_requests"] != float64(fakeWarmUp*failed) {
				t.Errorf("%d failed; noted: %v", failed, got)
			}
			w, err := l.Store.WarmUp(id)
			if want := (store.WarmUp{Requests: 2, Failed: 1, FirstFailure: "answer is not sorted"}); failed > 0 && w != want {
				t.Errorf("got %+v, %v; want %+v", w, err, want)
			} else if failed == 0 && !errors.Is(err, store.ErrNoData) {
				t.Errorf("nothing failed: got %+v, %v", w, err)
			}
		})
	}
}

// With hooks off a server's records only count, and a client's phases are 0.
func TestStacksWithoutHooks(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		s := soundStack()
		client, server := soundRecords()
		for i := range client {
			client[i].Serialization, client[i].Deserialization, client[i].Total = 0, 0, client[i].RTT()
			server[i] = measure.Exchange{}
		}
		s.acts[running], s.acts[reporting] = act{say: lines(client) + endOf(5, 0)}, act{say: lines(server) + endOf(5, 0)}
		off := func(l *Lab) {
			setup := *l.Plan.Trials[0].Setup
			setup.Options = map[string]string{"hooks": "off"}
			l.Plan.Trials[0].Setup = &setup
		}
		if got := verdict(t, s, off); got != "valid" {
			t.Errorf("got %q", got)
		}
	})
}

// A client that a signal stops in a run of a duration is waited for as long as its last requests may
// take, and not as long as a trial may; the reason says what happened to it.
func TestStoppedClientOfADuration(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		s := soundStack()
		s.acts[running], s.stopped = act{then: "hang"}, []int{4711}
		began := time.Now()
		got := verdict(t, s, func(l *Lab) {
			setup := *l.Plan.Trials[0].Setup
			setup.Requests, setup.Duration = 0, time.Second
			l.Plan.Trials[0].Setup = &setup
			l.Plan.Study.Design.WarmUp = study.Span{}
			l.Plan.Study.Timeouts.Trial, l.Plan.Study.Timeouts.Request = time.Hour, 5*time.Second
		})
		if took := time.Since(began); took > 42*time.Second || !says(got, "it was told to run for 1s and had not ended "+
			"40s later; a signal (SIGSTOP) or a debugger has stopped its process 4711") {
			t.Errorf("got %q after %v", got, took)
		}
	})
}

// A run that is bounded by time may have any number of records.
func TestRunsOfADuration(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		of := func(l *Lab) {
			setup := *l.Plan.Trials[0].Setup
			setup.Requests, setup.Duration = 0, time.Second
			l.Plan.Trials[0].Setup = &setup
			l.Plan.Study.Design.WarmUp = study.Span{}
		}
		if got := verdict(t, soundStack(), of); got != "valid" {
			t.Errorf("got %q", got)
		}
		s := soundStack()
		s.acts[running] = act{say: endOf(0, 0)}
		if got := verdict(t, s, of); !says(got, "no request was sent") {
			t.Errorf("got %q", got)
		}
	})
}
