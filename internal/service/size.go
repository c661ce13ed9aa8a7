package service

import (
	"fmt"
	"math"
)

// namespace is the contract's; every canonical XML message names it once.
const namespace = "urn:edgegauge:services:1"

// mostSize is the largest message that is counted, and the longest string of one, in bytes: both overflow nothing.
const mostSize = math.MaxInt32 / 2

// SizeToN returns the smallest n for which the canonical XML request of (seed,
// n, w) has at least size bytes. It counts, and makes no message: 10 MB take
// about as long as drawing the numbers.
func SizeToN(name Name, seed uint64, size int, w Width) (n int, err error) {
	if err := w.Check(); err != nil {
		return 0, err
	}
	if size > mostSize {
		return 0, fmt.Errorf("size %d B is above 1 GiB; write a smaller one", size)
	}
	r := random(seed)
	item := items(name, &r, w)
	length := emptySize(name, &r)
	switch {
	case item != nil:
		for length < size {
			length += item()
			n++
		}
	case length >= size:
	case name == IO || name == Memory: // base64: 4 letters for 3 bytes or fewer
		n = (size-length+3)/4*3 - 2
	case name == Echo || name == Monitor:
		n = size - length
	default:
		return 0, fmt.Errorf("a request of %s is always %d B; remove the size, or write %d or less", name, length, length)
	}
	return n, nil
}

// emptySize is the length of the canonical XML request with n = 0.
func emptySize(name Name, r *random) int {
	size := len(`<`) + len(name) + len(` xmlns=""></>`) + len(namespace) + len(name)
	switch name {
	case Echo:
		size += len("<text></text>")
	case IO, Memory:
		size += len("<data></data>")
	case Monitor:
		var c Record
		makeRecord(r, 0, &c)
		size += len("<id></id><status></status><sequence></sequence><temperature></temperature>") +
			len("<pressure></pressure><running></running><message></message>")
		size += len(c.ID) + digits(uint64(c.Status)) + digits(uint64(c.Sequence)) +
			len(hundredths(c.Temperature)) + len(hundredths(c.Pressure)) + len(fmt.Sprint(c.Running))
	}
	return size
}

// items returns a function that draws the next item of a repeated field and
// tells its length in XML, or nil if the service has none.
func items(name Name, r *random, w Width) func() int {
	const tags = len("<n></n>") // <s> and <x> are as long
	switch name {
	case Sort:
		return func() int { return tags + digits(uint64(r.number())) }
	case Sum:
		return func() int { return tags + digits(uint64(r.hundredths(w.Max))/100) + len(".00") }
	case Concat:
		return func() int {
			n := r.length(w.Letters)
			*r += random(uint64(n) * 0x9E3779B97F4A7C15) // n letters drawn
			return tags + n
		}
	}
	return nil
}

func digits(v uint64) int {
	n := 1
	for ; v >= 10; v /= 10 {
		n++
	}
	return n
}
