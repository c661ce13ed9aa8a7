package cost

import (
	"math"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/stat"
)

const table = "currency: EUR\nserver_month: 20\nserver_cores: 4\nutilization: 0.5\nGB: 0.1\ndevice_month: 0.25\n"

// A month, by hand: 360,000 devices each hour are 100 requests/s.
func TestMonth(t *testing.T) {
	p, err := Read([]byte(table))
	if err != nil {
		t.Fatal(err)
	}
	cpu := stat.Summary{Center: 0.05, Lo: 0.04, Hi: 0.061}
	wire := stat.Summary{Center: 1000, Lo: 900, Hi: 1100}
	m := Of(360_000, time.Hour, cpu, wire, &p)
	gb := 100 * 1000 * 2_629_800 / 1e9 // a month has 2,629,800 s
	for _, x := range []struct {
		what      string
		got, want Amount
	}{
		{"cores", m.Cores, Amount{5, 4, 6.1}},
		{"servers: 2 cores each may be busy", m.Servers, Amount{3, 2, 4}},
		{"devices a server", m.PerServer, Amount{144_000, 118_032, 180_000}}, // 2 cores × 3600 s over 50, 61, 40 ms
		{"bytes", m.Bytes, Amount{gb * 1e9, 0.9 * gb * 1e9, 1.1 * gb * 1e9}},
		{"cost", m.Cost, Amount{60 + 90_000 + gb/10, 40 + 90_000 + 0.09*gb, 80 + 90_000 + 0.11*gb}},
	} {
		for i, y := range [][2]float64{{x.got.Center, x.want.Center}, {x.got.Lo, x.want.Lo}, {x.got.Hi, x.want.Hi}} {
			if math.Abs(y[0]/y[1]-1) > 1e-12 {
				t.Errorf("%s, %d: got %v, want %v", x.what, i, y[0], y[1])
			}
		}
	}
	if m := Of(360_000, time.Hour, cpu, wire, nil); m.Cores.Center != 5 || !math.IsNaN(m.Servers.Center+m.Servers.Lo) ||
		!math.IsNaN(m.Cost.Hi) || !math.IsNaN(m.PerServer.Center) {
		t.Errorf("without prices: got %+v", m)
	}
	if m := Of(360_000, time.Hour, stat.Summary{Center: 0.04, Lo: math.NaN(), Hi: math.NaN()}, wire,
		&p); m.Servers.Center != 2 ||
		!math.IsNaN(m.Servers.Lo) {
		t.Errorf("exactly two servers, and no interval: got %+v", m.Servers)
	}
	if m := Of(1, 24*time.Hour, stat.Summary{Center: 5e-5, Lo: 4e-5, Hi: 6e-5}, wire, &p); m.Servers != (Amount{1, 1, 1}) {
		t.Errorf("one device, once a day: got %+v", m.Servers)
	}
}

func TestRead(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{strings.Replace(table, "GB", "gb", 1), "line 5"},
		{strings.Replace(table, "0.5", "50", 1), "utilization is not between 0 and 1"},
		{strings.Replace(table, "20", "-20", 1), "server_month -20: write a number"},
		{strings.Replace(table, "20", ".nan", 1), "server_month NaN"},
		{strings.Replace(table, "currency: EUR\n", "", 1), "currency is missing"},
		{strings.Replace(table, "server_cores: 4\n", "", 1), "server_cores is missing"},
		{strings.Replace(table, "20", "cheap", 1), "line 2"},
	} {
		if _, err := Read([]byte(tt.text)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: got %v, want %s", tt.text, err, tt.want)
		}
	}
}

// What the file does not price is free, and said to be.
func TestFree(t *testing.T) {
	for text, want := range map[string]string{table: "", strings.Replace(table, "GB: 0.1\n", "", 1): "GB",
		"currency: EUR\nserver_cores: 4\nutilization: 1\ndevice_month: 0\n": "server_month GB device_month"} {
		p, err := Read([]byte(text))
		if got := strings.Join(p.Free(), " "); err != nil || got != want {
			t.Errorf("%q: got %q, %v, want %q", text, got, err, want)
		}
	}
}

// What strangers write never panics, and what is read can be computed with.
func FuzzRead(f *testing.F) {
	f.Add([]byte(table))
	f.Add([]byte("a: &a [*a]\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := Read(text)
		if err != nil {
			return
		}
		one := stat.Summary{Center: 1, Lo: 1, Hi: 1}
		if m := Of(1, time.Second, one, one, &p); math.IsNaN(m.Servers.Center) || m.Servers.Center < 0 {
			t.Errorf("%q: got %+v", text, m)
		}
	})
}
