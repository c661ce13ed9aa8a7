package codec

import (
	"encoding/xml"
	"testing"

	"edgegauge.example/edgegauge/internal/service"
)

// BenchmarkMonitor is the monitor message with a text of 23 letters.
func BenchmarkMonitor(b *testing.B) { benchmark(b, service.Monitor, 23) }

// BenchmarkSort is the 500 KB message of the published studies.
func BenchmarkSort(b *testing.B) {
	n, err := service.SizeToN(service.Sort, 7, 500_000, service.Width{})
	if err != nil {
		b.Fatal(err)
	}
	benchmark(b, service.Sort, n)
}

func benchmark(b *testing.B, name service.Name, n int) {
	for _, enc := range Encodings() {
		req, _ := exchange(b, name, 7, n, service.Width{})
		buffer := Append(enc, nil, name, false, req)
		b.Run(string(enc)+"/encode", func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(buffer)))
			for b.Loop() {
				buffer = Append(enc, buffer[:0], name, false, req)
			}
		})
		b.Run(string(enc)+"/decode", func(b *testing.B) {
			var m service.Message
			b.ReportAllocs()
			b.SetBytes(int64(len(buffer)))
			for b.Loop() {
				if err := Decode(enc, buffer, name, false, &m); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkMonitorEncodingXML is what the standard library asks for the same.
func BenchmarkMonitorEncodingXML(b *testing.B) {
	type monitor struct {
		XMLName     xml.Name `xml:"urn:edgegauge:services:1 monitor"`
		ID          string   `xml:"id"`
		Status      int32    `xml:"status"`
		Sequence    int32    `xml:"sequence"`
		Temperature float64  `xml:"temperature"`
		Pressure    float64  `xml:"pressure"`
		Running     bool     `xml:"running"`
		Message     string   `xml:"message"`
	}
	req, _ := exchange(b, service.Monitor, 7, 23, service.Width{})
	document := Append(XML, nil, service.Monitor, false, req)
	var m monitor
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := xml.Unmarshal(document, &m); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("encode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := xml.Marshal(&m); err != nil {
				b.Fatal(err)
			}
		}
	})
}
