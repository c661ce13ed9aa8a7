// Package cost says what many devices take of servers and network in a month, from
// the CPU time and the bytes of one request. It asks nobody for prices.
package cost

import (
	"errors"
	"fmt"
	"math"
	"time"

	"go.yaml.in/yaml/v4"

	"edgegauge.example/edgegauge/internal/named"
	"edgegauge.example/edgegauge/internal/stat"
)

// Prices are what a user pays, as the file of prices has them.
type Prices struct {
	Currency    string  `yaml:"currency"`     // as printed beside every sum, such as EUR
	ServerMonth float64 `yaml:"server_month"` // of one server
	ServerCores float64 `yaml:"server_cores"` // of one server, each as fast as those that were measured
	Utilization float64 `yaml:"utilization"`  // share of its cores that a server may be busy on average
	Gigabyte    float64 `yaml:"GB"`           // of 1e9 B on the wire, both ways
	DeviceMonth float64 `yaml:"device_month"` // of one device, such as its SIM
}

// Read reads a file of prices. An unknown key is an error with its line.
func Read(text []byte) (Prices, error) {
	var p Prices
	if err := named.InWords(yaml.Load(text, &p, yaml.WithKnownFields())); err != nil {
		return p, err
	}
	for _, x := range []struct {
		key   string
		value float64
	}{{"server_month", p.ServerMonth}, {"server_cores", p.ServerCores}, {"utilization", p.Utilization}, {"GB", p.Gigabyte},
		{"device_month", p.DeviceMonth}} {
		if !(x.value >= 0) || math.IsInf(x.value, 0) {
			return p, fmt.Errorf("%s %v: write a number that is not negative", x.key, x.value)
		}
	}
	switch {
	case p.Currency == "":
		return p, errors.New("currency is missing; write, for example, currency: EUR")
	case p.ServerCores == 0:
		return p, errors.New("server_cores is missing; write how many cores one server has")
	case p.Utilization == 0 || p.Utilization > 1:
		return p, errors.New("utilization is not between 0 and 1; write the share of its cores that a server may be busy " +
			"on average, such as 0.5: the rest is for peaks")
	}
	return p, nil
}

// Free are the keys of what costs nothing, be it that the file says so or that it says nothing.
func (p Prices) Free() []string {
	var out []string
	for _, x := range []struct {
		key   string
		price float64
	}{{"server_month", p.ServerMonth}, {"GB", p.Gigabyte}, {"device_month", p.DeviceMonth}} {
		if x.price == 0 {
			out = append(out, x.key)
		}
	}
	return out
}

// An Amount is a figure with its interval; Lo and Hi are NaN where there is none.
type Amount struct{ Center, Lo, Hi float64 }

func amountOf(s stat.Summary, times float64) Amount {
	return Amount{s.Center * times, s.Lo * times, s.Hi * times}
}

func (a Amount) each(f func(float64) float64) Amount { return Amount{f(a.Center), f(a.Lo), f(a.Hi)} }

// plus adds the ends, too: the interval of a sum holds if both intervals do.
func (a Amount) plus(b Amount) Amount { return Amount{a.Center + b.Center, a.Lo + b.Lo, a.Hi + b.Hi} }

// A Month is what devices take in a month.
type Month struct {
	Cores   Amount // busy on average
	Servers Amount // whole ones; without prices all are NaN
	Bytes   Amount // on the wire, both ways
	Cost    Amount // in the currency of the prices; without prices all are NaN
	// PerServer is how many devices one server's CPU time is enough for, rounded down; without prices all are NaN.
	PerServer Amount
}

// Length is the mean length of a month.
const Length = 365.25 * 24 * time.Hour / 12

// Of is the month of devices that each send a request in each period, given the CPU
// time of the server (s) and the bytes on the wire for one request. Prices may be nil.
func Of(devices float64, period time.Duration, cpu, wire stat.Summary, p *Prices) Month {
	rate := devices / period.Seconds()
	none := Amount{math.NaN(), math.NaN(), math.NaN()}
	m := Month{Cores: amountOf(cpu, rate), Bytes: amountOf(wire, rate*Length.Seconds()), Servers: none, Cost: none,
		PerServer: none}
	if p == nil {
		return m
	}
	m.Servers = m.Cores.each(func(cores float64) float64 { // one at least, however little it does
		return max(1, math.Ceil(cores/(p.ServerCores*p.Utilization)-1e-9))
	})
	each := func(cpu float64) float64 { return math.Floor(p.ServerCores*p.Utilization*period.Seconds()/cpu + 1e-9) }
	m.PerServer = Amount{each(cpu.Center), each(cpu.Hi), each(cpu.Lo)}
	m.Cost = m.Servers.each(func(n float64) float64 { return n*p.ServerMonth + devices*p.DeviceMonth }).
		plus(m.Bytes.each(func(b float64) float64 { return b / 1e9 * p.Gigabyte }))
	return m
}
