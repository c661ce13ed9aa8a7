package service

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
)

// Env is what a service needs of the world; this room does no I/O itself.
type Env struct {
	// Keep writes data to a file, syncs it, and reads it back into back[:0],
	// growing it as needed. io needs it.
	Keep func(data, back []byte) ([]byte, error)
	// Sensor reads hundredths of °C and the time of reading in milliseconds
	// since 1970-01-01T00:00:00Z. temperature needs it.
	Sensor func() (celsius, time int64, err error)
}

// Answer does the service's work: it reads req and fills resp, which must be
// another message. An error is the server's fault, not the request's.
func Answer(name Name, req, resp *Message, env Env) error {
	switch name {
	case Sort:
		resp.Ints = append(resp.Ints[:0], req.Ints...)
		slices.Sort(resp.Ints)
	case Concat:
		resp.Text = resp.Text[:0]
		for _, s := range req.Strings {
			resp.Text = append(resp.Text, s...)
		}
	case Sum:
		return answerSum(req, resp)
	case Echo:
		resp.Text = append(resp.Text[:0], req.Text...)
	case Temperature:
		return answerTemperature(resp, env)
	case Monitor:
		resp.Accepted, resp.Sequence = true, req.Record.Sequence
	case IO:
		return answerIO(req, resp, env)
	case Memory:
		resp.Digest = binary.BigEndian.AppendUint64(resp.Digest[:0], Chase(req.Data))
	default:
		return fmt.Errorf("unknown service %q", name)
	}
	return nil
}

// answerSum adds in integers. Only the sum has a bound; what comes before it
// may pass the bound, but not the int64.
func answerSum(req, resp *Message) error {
	var total int64
	for _, k := range req.Hundredths {
		if total > math.MaxInt64-MaxHundredths || total < math.MinInt64+MaxHundredths {
			break
		}
		total += k
	}
	if total > MaxHundredths || total < -MaxHundredths {
		return errors.New("the sum is out of range; send fewer or smaller numbers")
	}
	resp.Total = total
	return nil
}

func answerTemperature(resp *Message, env Env) error {
	if env.Sensor == nil {
		return errors.New("no sensor; name one in serve's \"sensor\"")
	}
	celsius, at, err := env.Sensor()
	if err != nil {
		return fmt.Errorf("read the sensor: %w", err)
	}
	resp.Celsius, resp.Time = celsius, at
	return nil
}

func answerIO(req, resp *Message, env Env) error {
	if env.Keep == nil {
		return errors.New("no folder to write to; name one in serve's \"directory\"")
	}
	back, err := env.Keep(req.Data, resp.Data[:0])
	if err != nil {
		return fmt.Errorf("store the data: %w", err)
	}
	resp.Data = back
	sum := sha256.Sum256(back)
	resp.Digest = append(resp.Digest[:0], sum[:]...)
	return nil
}

// Chase walks data so that each address depends on the byte before, len(data)
// steps; the contract defines it.
func Chase(data []byte) uint64 {
	h, i, n := uint64(14695981039346656037), uint64(0), uint64(len(data))
	for range data {
		h = (h ^ uint64(data[i])) * 1099511628211
		i = h % n
	}
	return h
}
