package stack

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/measure"
)

// program plays a stack that answers every line with the next text.
func program(t *testing.T, answers ...string) *Conn {
	t.Helper()
	inR, inW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer outW.Close()
		dec := json.NewDecoder(inR)
		for _, a := range answers {
			var v any
			if dec.Decode(&v) != nil {
				return
			}
			io.WriteString(outW, a)
		}
		outW.Close() // a program that has said its all ends
		io.Copy(io.Discard, inR)
	}()
	t.Cleanup(func() { inW.Close(); inR.Close(); outR.Close() })
	return NewConn(inW, outR)
}

func TestWholeConversation(t *testing.T) {
	c := program(t,
		`{"type":"ready","url":"http://127.0.0.1:1/x","version":"1","runtime":"r","phases":{"discovery":1300000000,"metadata":7,"later":1}}`+"\n",
		`{"type":"end","count":2,"phases":{"first_invoke":9}}`+"\n",
		`{"type":"exchange","seq":1,"due":0,"sent":5,"done":9,"out":3,"in":4}`+"\n"+
			`{"seq":2,"type":"exchange","failure":"no \"answer\"","extra":[1]}`+"\n"+`{"type":"end","count":2,"cpu":77,`+
			`"repetitions":3,"retransmissions":4,"reconnects":5,"unsure_answers":6}`+"\n")
	ready, err := c.Call(t.Context(), Call{})
	if err != nil || ready.URL != "http://127.0.0.1:1/x" || ready.Version != "1" {
		t.Fatalf("got %+v %v", ready, err)
	}
	if ready.Phases != (Phases{Discovery: 1300 * time.Millisecond, Metadata: 7}) {
		t.Errorf("got phases %+v", ready.Phases)
	}
	if n, err := c.Run(t.Context(), Run{}, nil); n != (End{Count: 2, Phases: Phases{FirstInvoke: 9}}) || err != nil {
		t.Errorf("unrecorded run: got %+v %v, want 2", n, err)
	}
	var got []measure.Exchange
	n, err := c.Run(t.Context(), Run{Record: true}, func(x measure.Exchange) { got = append(got, x) })
	want := End{Count: 2, CPU: 77, Repetitions: 3, Retransmissions: 4, Reconnects: 5, Unsure: 6}
	if n != want || err != nil || len(got) != 2 {
		t.Fatalf("got %+v %v %v", n, err, got)
	}
	if got[0].RTT() != 4 || got[0].Out != 3 || got[1].Failure != `no "answer"` {
		t.Errorf("got %+v", got)
	}
}

// Devices are heard of between records, by whoever waits for that; from a program that has
// none they are no words of the protocol.
func TestDevicesAreHeard(t *testing.T) {
	said := `{"type":"devices","population":{"devices":7}}` + "\n" + `{"type":"exchange","seq":1,"sent":5,"done":9}` +
		"\n" +
		`{"type":"devices","population":{"devices":8}}` + "\n" + `{"type":"end","count":1}` + "\n"
	c := program(t, said)
	var heard []string
	c.Devices = func(b json.RawMessage) { heard = append(heard, string(b)) }
	if e, err := c.Run(t.Context(), Run{Record: true}, nil); err != nil || e.Count != 1 {
		t.Errorf("got %+v, %v", e, err)
	}
	if len(heard) != 2 || heard[0] != `{"devices":7}` || heard[1] != `{"devices":8}` {
		t.Errorf("heard %q", heard)
	}
	if _, err := program(t, said).Run(t.Context(), Run{Record: true}, nil); !errors.Is(err, errNotProtocol) {
		t.Errorf("from a program without devices: %v", err)
	}
}

func TestProgramsThatMisbehave(t *testing.T) {
	long := strings.Repeat("x", maxLine+1)
	for _, tt := range []struct{ what, says, want string }{
		{"prints garbage", "Listening on port 80\n", `violated the protocol: "Listening`},
		{"says on stdout why it cannot start", "Error occurred during initialization of VM\nToo small maximum heap\n",
			`violated the protocol: it ended without "ready", and had printed "Error occurred during initialization of VM` +
				`\nToo small maximum heap"`},
		{"prints garbage without end", long, "a line longer than 1048576 bytes"},
		{"reports its own error", `{"type":"error","message":"no encoding \"exi\""}` + "\n", `no encoding "exi"`},
		{"says something else", `{"type":"end","count":0}` + "\n", `"end" instead of "ready"`},
		{"cuts its line", `{"type":"ready"`, "closed its output without answering"},
		{"says JSON without a type", "{}\n", "violated the protocol"},
		{"says nothing and ends", "", "closed its output without answering"},
	} {
		_, err := program(t, tt.says).Serve(t.Context(), Serve{})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("a program that %s: got %v, want %q", tt.what, err, tt.want)
		}
	}
}

func TestRecordsMustAddUp(t *testing.T) {
	x := string(AppendExchange(nil, measure.Exchange{Seq: 1}))
	for _, tt := range []struct{ what, says, want string }{
		{"end counts more than was printed", x + `{"type":"end","count":2}` + "\n", `1 records, but "end" says 2`},
		{"another type among records", x + `{"type":"ready"}` + "\n", `"ready" among the records`},
		{"a broken record", `{"type":"exchange","seq":x}` + "\n", "violated the protocol"},
	} {
		_, err := program(t, tt.says).Report(t.Context(), false, func(measure.Exchange) {})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", tt.what, err, tt.want)
		}
	}
}

func TestSilentProgramIsLeftAtTheDeadline(t *testing.T) {
	inR, inW, _ := os.Pipe()
	outR, outW, _ := os.Pipe()
	defer func() { inR.Close(); inW.Close(); outR.Close(); outW.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := NewConn(inW, outR).Serve(ctx, Serve{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the deadline", err)
	}
}

func FuzzExchange(f *testing.F) {
	f.Add([]byte(`{"type":"exchange","seq":1,"due":0,"sent":5,"done":9,"serialization":1,"processing":2,"deserialization":3,"total":4,"in":5,"out":6}`))
	f.Add([]byte(`{"type":"exchange","seq":1,"failure":"x"}`))
	f.Add([]byte(`{"type":"exchange","seq":01}`))
	f.Add([]byte(`{"type":"exchange","seq":1,"seq":2}`))
	f.Add([]byte(`{"type":"exchange","due":-0}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		var x, general, back measure.Exchange
		if !plainExchange(line, &x) {
			return
		}
		// what the fast path takes, encoding/json takes, to the same record
		if err := anyExchange(line, &general); err != nil {
			t.Fatalf("took %q, which is not JSON: %v", line, err)
		}
		if general != x {
			t.Fatalf("%q: got %+v, want %+v", line, x, general)
		}
		err := parseExchange(AppendExchange(nil, x)[:len(AppendExchange(nil, x))-1], &back)
		if err != nil || back != x {
			t.Fatalf("decode of encode: got %+v %v, want %+v", back, err, x)
		}
	})
}

func FuzzConn(f *testing.F) {
	f.Add([]byte(`{"type":"ready"}` + "\n"))
	f.Add([]byte(`{"type":"exchange","seq":1}` + "\n" + `{"type":"end","count":1}` + "\n"))
	f.Fuzz(func(t *testing.T, says []byte) {
		outR, outW, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer outR.Close()
		go func() { outW.Write(says); outW.Close() }()
		c := NewConn(io.Discard, outR)
		n := 0
		count, err := c.Report(context.Background(), false, func(measure.Exchange) { n++ })
		if err == nil && n != 0 && count.Count != n {
			t.Fatalf("took %d records for %d", count.Count, n)
		}
	})
}

func BenchmarkExchangeLine(b *testing.B) {
	line := AppendExchange(nil, measure.Exchange{Seq: 9999, Due: 1234567890, Sent: 1234567999, Done: 1234599999,
		Serialization: 1000, Deserialization: 2000, Total: 50000, Out: 100, In: 20})
	line = line[:len(line)-1]
	for b.Loop() {
		var x measure.Exchange
		if err := parseExchange(line, &x); err != nil {
			b.Fatal(err)
		}
	}
}
