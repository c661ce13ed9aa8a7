package service

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// The first outputs of SplitMix64 for seed 1234567, as its authors' C program
// prints them.
func TestRandom(t *testing.T) {
	r := random(1234567)
	for i, want := range []uint64{6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431,
		16408922859458223821} {
		if got := r.next(); got != want {
			t.Errorf("draw %d: got %d, want %d", i, got, want)
		}
	}
}

func TestAppendHundredths(t *testing.T) {
	for k, want := range map[int64]string{
		0: "0.00", 1: "0.01", -1: "-0.01", -5: "-0.05", 99: "0.99", 100: "1.00", -100: "-1.00", 1231: "12.31",
		MaxHundredths: "10000000000000.00", -1 << 63: "-92233720368547758.08",
	} {
		if got := string(AppendHundredths(nil, k)); got != want {
			t.Errorf("%d: got %s, want %s", k, got, want)
		}
	}
}

var world = Env{
	Keep:   func(data, back []byte) ([]byte, error) { return append(back, data...), nil },
	Sensor: func() (int64, int64, error) { return 2150, 1700000000000, nil },
}

// Every answer passes, and every way to be wrong is told.
func TestCheck(t *testing.T) {
	for _, c := range []struct {
		name  Name
		spoil func(m *Message)
		want  string
	}{
		{Sort, func(m *Message) { slices.Reverse(m.Ints) }, "answer is not sorted: "},
		{Sort, func(m *Message) { m.Ints[2] = m.Ints[1] }, "number 2 is "},
		{Sort, func(m *Message) { m.Ints = m.Ints[1:] }, "answer has 22 numbers, want 23"},
		{Concat, func(m *Message) { m.Text = append(m.Text, 'x') }, "text has "},
		{Concat, func(m *Message) { m.Text[7]++ }, "text is "},
		{Sum, func(m *Message) { m.Total-- }, "sum is "},
		{Echo, func(m *Message) { m.Text[0] = '!' }, `text is "!`},
		{Temperature, func(m *Message) { m.Celsius = -27316 }, "temperature is -273.16 °C"},
		{Temperature, func(m *Message) { m.Celsius = 8500000 }, "out of any sensor's range"},
		{Temperature, func(m *Message) { m.Time = 0 }, "time of reading"},
		{Monitor, func(m *Message) { m.Accepted = false }, "was not accepted"},
		{Monitor, func(m *Message) { m.Sequence++ }, "acknowledged sequence is "},
		{IO, func(m *Message) { m.Digest[31]++ }, "digest is "},
		{Memory, func(m *Message) { m.Digest = nil }, "digest is , want "},
	} {
		var req, resp Message
		Make(c.name, 7, 23, Width{}, &req)
		if err := Answer(c.name, &req, &resp, world); err != nil {
			t.Fatal(err)
		}
		if err := Check(c.name, &req, &resp); err != nil {
			t.Errorf("%s: the right answer: %v", c.name, err)
		}
		c.spoil(&resp)
		if err := Check(c.name, &req, &resp); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
}

// What Answer makes of edges, and of a world that fails.
func TestAnswer(t *testing.T) {
	broken := errors.New("broken")
	var resp Message
	for _, c := range []struct {
		name Name
		req  Message
		env  Env
		want string
	}{
		{Sum, Message{Hundredths: []int64{MaxHundredths, 1}}, world, "out of range"},
		// 18447·10¹⁵ is 2⁶⁴ + 2.6·10¹⁴: once around, it would look like a sum in range.
		{Sum, Message{Hundredths: slices.Repeat([]int64{MaxHundredths}, 18447)}, world, "out of range"},
		{Sum, Message{Hundredths: slices.Repeat([]int64{-MaxHundredths}, 18447)}, world, "out of range"},
		{Temperature, Message{}, Env{}, "no sensor"},
		{Temperature, Message{}, Env{Sensor: func() (int64, int64, error) { return 0, 0, broken }},
			"read the sensor: broken"},
		{IO, Message{}, Env{}, "no folder to write to"},
		{IO, Message{}, Env{Keep: func(_, _ []byte) ([]byte, error) { return nil, broken }}, "store the data: broken"},
		{"weather", Message{}, world, `unknown service "weather"`},
	} {
		if err := Answer(c.name, &c.req, &resp, c.env); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
	req := Message{Ints: []int32{3, -1, 2}}
	if err := Answer(Sort, &req, &resp, world); err != nil || !slices.Equal(req.Ints, []int32{3, -1, 2}) {
		t.Errorf("sort changed its request to %v (%v)", req.Ints, err)
	}
	req = Message{Hundredths: []int64{MaxHundredths, 12345, -MaxHundredths}}
	if err := Answer(Sum, &req, &resp, world); err != nil || resp.Total != 12345 {
		t.Errorf("sum is %d (%v), want 12345", resp.Total, err)
	}
}

// Reused messages cost no memory.
func TestNoAllocation(t *testing.T) {
	for _, name := range Names() {
		var req, resp Message
		Make(name, 7, 1000, Width{}, &req)
		checker, err := NewChecker(name, &req)
		if err != nil {
			t.Fatal(err)
		}
		work := func() {
			Make(name, 7, 1000, Width{}, &req)
			if err := errors.Join(Answer(name, &req, &resp, world), checker.Check(&resp)); err != nil {
				t.Fatal(err)
			}
		}
		work()
		if n := testing.AllocsPerRun(20, work); n != 0 {
			t.Errorf("%s: %v allocations, want 0", name, n)
		}
	}
}

func TestWidth(t *testing.T) {
	for _, w := range []Width{{Letters: -1}, {Max: MaxHundredths + 1}} {
		if w.Check() == nil {
			t.Errorf("%v passes", w)
		}
	}
	var m Message
	Make(Concat, 7, 3, Width{Letters: 5}, &m)
	for _, s := range m.Strings {
		if len(s) != 5 {
			t.Errorf("%q has not 5 letters", s)
		}
	}
}

func TestParse(t *testing.T) {
	if n, err := Parse("io"); n != IO || err != nil {
		t.Errorf("got %q, %v", n, err)
	}
	if _, err := Parse("IO"); err == nil ||
		!strings.Contains(err.Error(), "sort, concat, sum, echo, temperature, monitor, io, memory") {
		t.Errorf("got %v, want the names there are", err)
	}
}
