package labbench

import (
	"fmt"
	"time"

	"edgegauge.example/edgegauge/internal/service"
	"edgegauge.example/edgegauge/internal/service/codec"
	"edgegauge.example/edgegauge/internal/stat"
)

// formRows set the forms of two messages side by side: bytes, and the time to
// write and to read them, in this process.
func formRows() ([]Row, error) {
	big, err := service.SizeToN(service.Sort, 7, 500_000, service.Width{})
	if err != nil {
		return nil, err
	}
	var rows []Row
	for _, x := range []struct {
		name  service.Name
		n     int
		title string
	}{{service.Monitor, 23, "monitor"}, {service.Sort, big, "sort, 500 kB of XML"}} {
		var m service.Message
		service.Make(x.name, 7, x.n, service.Width{}, &m)
		for _, enc := range []codec.Encoding{codec.XML, codec.CBOR, codec.Protobuf, codec.EXISchema,
			codec.EXISchemaCompressed} {
			form, err := measureForm(enc, x.name, &m)
			if err != nil {
				return rows, err
			}
			rows = append(rows, Row{Figure: fmt.Sprintf("%s as %s", x.title, enc), Measured: form})
		}
	}
	rows[0].How = "each codec alone on one core, medians of 11 rounds of 20 ms after a warm-up of as long: bytes; time " +
		"to write; time to read"
	return rows, nil
}

func measureForm(enc codec.Encoding, name service.Name, m *service.Message) (string, error) {
	b := codec.Append(enc, nil, name, false, m)
	size := len(b)
	var read service.Message
	var err error
	write := medianTime(func() { b = codec.Append(enc, b[:0], name, false, m) })
	decode := medianTime(func() { err = codec.Decode(enc, b, name, false, &read) })
	return fmt.Sprintf("%d B, %v, %v", size, write, decode), err
}

// medianTime is the time of one call.
func medianTime(do func()) time.Duration {
	const round = 20 * time.Millisecond
	calls := 0
	for began := time.Now(); time.Since(began) < round; calls++ {
		do()
	}
	var rounds []time.Duration
	for range 11 {
		began := time.Now()
		for range calls {
			do()
		}
		rounds = append(rounds, time.Since(began)/time.Duration(calls))
	}
	return time.Duration(stat.Middle(rounds))
}
