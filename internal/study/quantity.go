package study

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"time"

	"edgegauge.example/edgegauge/internal/lazy"
	"edgegauge.example/edgegauge/internal/plural"
)

// The quantities of a study file. Each reader takes the text as written and
// returns the value, its canonical text, and what to write when it is wrong
// (empty when it is right). Decimal fractions are read exactly: 0.1kB is 100 B
// on every platform.

// decimal bounds digits and exponent, so that 1e999999999 costs nothing and
// every number has an exact short text.
var decimal = lazy.Regexp(`^[0-9]{1,18}(\.[0-9]{1,18})?([eE][-+]?[0-9])?$`)

// endless is a number of more digits than readDecimal reads.
var endless = lazy.Regexp(`^[0-9]{19,}$`)

func readDecimal(s string) (*big.Rat, bool) {
	if !decimal().MatchString(s) {
		return nil, false
	}
	return new(big.Rat).SetString(s)
}

// durations are texts that time.ParseDuration refuses only if they are longer than its int64 of ns holds.
var durations = lazy.Regexp(`^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$`)

// readDuration reads Go's durations, 0 and above.
func readDuration(s string) (d time.Duration, text, advice string) {
	const example = "write a duration such as 20ms, 1.5s or 10m"
	if s == "0" {
		return 0, "0s", ""
	}
	if decimal().MatchString(s) {
		return 0, "", "give its unit, such as " + s + "ms or " + s + "s"
	}
	d, err := time.ParseDuration(s)
	switch {
	case err != nil && durations().MatchString(s):
		return 0, "", "write less than 2562047h"
	case err != nil:
		return 0, "", example
	}
	if d < 0 {
		return 0, "", "write a duration of 0 or more"
	}
	return d, DurationText(d), ""
}

// DurationText is a duration as a study has it: 10m, not 10m0s.
func DurationText(d time.Duration) string { return plural.Duration(d) }

// readRatio reads 0.05 or 5%, from 0 to 1. Its canonical text is in percent.
func readRatio(s string) (p float64, text, advice string) {
	number, percent := strings.CutSuffix(s, "%")
	number = strings.TrimSpace(number)
	r, ok := readDecimal(number)
	if !ok {
		return 0, "", "write a share such as 0.05 or 5%"
	}
	hundred := big.NewRat(100, 1)
	if percent {
		r.Quo(r, hundred)
	}
	if r.Cmp(big.NewRat(1, 1)) > 0 {
		if !percent && r.Cmp(hundred) <= 0 {
			return 0, "", "write " + ratText(new(big.Rat).Quo(r, hundred)) + " or " + number + "% for " + number + " %"
		}
		return 0, "", "write a share between 0 and 1, or between 0% and 100%"
	}
	p, _ = r.Float64()
	return p, ratText(r.Mul(r, hundred)) + "%", ""
}

// ratText writes a decimal fraction without needless zeros.
func ratText(r *big.Rat) string {
	s := r.FloatString(60)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

type unit struct {
	name string
	size int64
}

// byteUnits: the decimal units are SI's; KB is read as kB, 1000 B.
var byteUnits = []unit{
	{"B", 1},
	{"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9},
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30},
}

var bitUnits = []unit{{"bit", 1}, {"kbit", 1e3}, {"Mbit", 1e6}, {"Gbit", 1e9}}

// readSize reads a number of bytes with its unit.
func readSize(s string) (bytes int64, text, advice string) {
	const example = "write a size such as 512B, 100kB (1000 B each) or 64KiB (1024 B each)"
	if decimal().MatchString(s) {
		return 0, "", "give its unit: " + s + "B, " + s + "kB (1000 B each) or " + s + "KiB (1024 B each)"
	}
	if number, ok := strings.CutSuffix(s, "KB"); ok {
		s = number + "kB"
	}
	return readUnits(s, byteUnits, example)
}

// readBitRate reads a link's rate in bit/s.
func readBitRate(s string) (bitPerSecond int64, text, advice string) {
	const example = "write a rate such as 9600bit, 60kbit or 1Mbit (per second)"
	return readUnits(strings.TrimSuffix(s, "/s"), bitUnits, example)
}

// most is how many bytes or bits a text may say; advice names the round number below it.
var most = big.NewRat(1<<50, 1)

func readUnits(s string, units []unit, example string) (int64, string, string) {
	digits := strings.TrimRight(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
	name := s[len(digits):]
	number := strings.TrimSpace(digits)
	r, ok := readDecimal(number)
	for _, u := range units {
		if u.name != name {
			continue
		}
		if ok {
			r.Mul(r, new(big.Rat).SetInt64(u.size))
		}
		switch {
		case ok && r.Cmp(most) > 0, endless().MatchString(number):
			return 0, "", "write at most " + unitsText(1e15, units)
		case ok && r.IsInt():
			v := r.Num().Int64()
			return v, unitsText(v, units), ""
		}
		break
	}
	return 0, "", example
}

// SizeText is a number of bytes as a study says it: 16MB.
func SizeText(bytes int64) string { return unitsText(bytes, byteUnits) }

// unitsText is the shortest exact text, in the first unit of those equally short.
func unitsText(v int64, units []unit) string {
	best := strconv.FormatInt(v, 10) + units[0].name
	for _, u := range units[1:] {
		if v == 0 || v%u.size != 0 {
			continue
		}
		if s := strconv.FormatInt(v/u.size, 10) + u.name; len(s) < len(best) {
			best = s
		}
	}
	return best
}

// readRequestRate reads requests per second: 100, 0.5 or 100/s; most is the
// highest rate, 0: a thousand million.
func readRequestRate(s string, most int64) (perSecond float64, text, advice string) {
	r, ok := readDecimal(strings.TrimSuffix(s, "/s"))
	if !ok {
		return 0, "", "write requests per second, such as 100 or 0.5; 0 is a closed loop"
	}
	if most == 0 {
		most = 1e9
	}
	if r.Cmp(big.NewRat(most, 1)) > 0 || r.Sign() > 0 && r.Cmp(big.NewRat(1, 1e6)) < 0 {
		return 0, "", fmt.Sprintf("write 0, or requests per second from 0.000001 to %d", most)
	}
	perSecond, _ = r.Float64()
	return perSecond, ratText(r), ""
}
