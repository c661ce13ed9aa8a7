package service

import (
	"bytes"
	"fmt"
	"slices"
)

// A Checker knows the right answer to one request and compares answers with
// it: made once, before a run, it costs the run one comparison an answer.
type Checker struct {
	name Name
	want Message
}

// NewChecker works out the right answer to req, which it does not keep.
func NewChecker(name Name, req *Message) (*Checker, error) {
	c := &Checker{name: name}
	keep := func(data, back []byte) ([]byte, error) { return append(back, data...), nil }
	nowhere := func() (int64, int64, error) { return 0, 0, nil }
	err := Answer(name, req, &c.want, Env{Keep: keep, Sensor: nowhere})
	return c, err
}

// Check says what is wrong with an answer to req, in words. Whoever checks many
// answers to one request makes a Checker.
func Check(name Name, req, resp *Message) error {
	c, err := NewChecker(name, req)
	if err != nil {
		return err
	}
	return c.Check(resp)
}

// Check says what is wrong with resp, in words; nil if nothing is.
func (c *Checker) Check(resp *Message) error {
	switch c.name {
	case Sort:
		return c.checkSorted(resp.Ints)
	case Concat, Echo:
		return checkText(resp.Text, c.want.Text)
	case Sum:
		if resp.Total != c.want.Total {
			return fmt.Errorf("sum is %s, want %s", hundredths(resp.Total), hundredths(c.want.Total))
		}
	case Temperature:
		return checkReading(resp.Celsius, resp.Time)
	case Monitor:
		return c.checkAcknowledgement(resp)
	case IO, Memory:
		if !bytes.Equal(resp.Digest, c.want.Digest) {
			return fmt.Errorf("digest is %x, want %x", resp.Digest, c.want.Digest)
		}
	}
	return nil
}

func (c *Checker) checkSorted(got []int32) error {
	want := c.want.Ints
	if slices.Equal(got, want) {
		return nil
	}
	if len(got) != len(want) {
		return fmt.Errorf("answer has %d numbers, want %d", len(got), len(want))
	}
	for i := 1; i < len(got); i++ {
		if got[i-1] > got[i] {
			return fmt.Errorf("answer is not sorted: %d before %d at %d", got[i-1], got[i], i)
		}
	}
	for i := range got {
		if got[i] != want[i] {
			return fmt.Errorf("number %d is %d, want %d", i, got[i], want[i])
		}
	}
	return nil
}

func checkText(got, want []byte) error {
	if bytes.Equal(got, want) {
		return nil
	}
	if len(got) != len(want) {
		return fmt.Errorf("text has %d bytes, want %d", len(got), len(want))
	}
	i := 0
	for got[i] == want[i] {
		i++
	}
	end := min(i+16, len(got))
	return fmt.Errorf("text is %q at %d, want %q", got[i:end], i, want[i:end])
}

// CheckCelsius refuses a temperature, in hundredths of a degree, that no sensor reads.
func CheckCelsius(hundredthsOf int64) error {
	if hundredthsOf < -27315 || hundredthsOf > 100000 {
		return fmt.Errorf("temperature is %s °C, out of any sensor's range", hundredths(hundredthsOf))
	}
	return nil
}

// checkReading can only tell what no sensor reads: below absolute zero, above
// 1000 °C, or no time at all.
func checkReading(celsius, at int64) error {
	if err := CheckCelsius(celsius); err != nil {
		return err
	}
	if at <= 0 {
		return fmt.Errorf("time of reading is %d ms, want milliseconds since 1970", at)
	}
	return nil
}

func (c *Checker) checkAcknowledgement(resp *Message) error {
	if !resp.Accepted {
		return fmt.Errorf("record %d was not accepted", c.want.Sequence)
	}
	if resp.Sequence != c.want.Sequence {
		return fmt.Errorf("acknowledged sequence is %d, want %d", resp.Sequence, c.want.Sequence)
	}
	return nil
}
