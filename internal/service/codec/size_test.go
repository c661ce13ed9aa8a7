package codec

import (
	"testing"

	"edgegauge.example/edgegauge/internal/service"
)

// The n of a size is the smallest whose canonical XML is that long: its message
// is, and the one before is not.
func TestSizeToN(t *testing.T) {
	var m service.Message
	length := func(name service.Name, seed uint64, n int, w service.Width) int {
		service.Make(name, seed, n, w, &m)
		return len(Append(XML, nil, name, false, &m))
	}
	for _, name := range service.Names() {
		for _, w := range []service.Width{{}, {Letters: 3, Max: 7}, {Max: service.MaxHundredths}} {
			for _, seed := range []uint64{7, 1<<64 - 1} {
				for size := 0; size < 5000; size = size*9/8 + 1 {
					n, err := service.SizeToN(name, seed, size, w)
					if name == service.Temperature {
						if (err == nil) != (size <= length(name, seed, 0, w)) {
							t.Errorf("%s of %d B: %d, %v", name, size, n, err)
						}
						continue
					}
					if err != nil || length(name, seed, n, w) < size || n > 0 && length(name, seed, n-1, w) >= size {
						t.Errorf("%s seed %d of %d B: n is %d (%v) with %d B", name, seed, size, n, err, length(name, seed, n, w))
					}
				}
			}
		}
	}
	for _, size := range []int{500_000, 10_000_000} {
		n, err := service.SizeToN(service.Sort, 7, size, service.Width{})
		if err != nil || length(service.Sort, 7, n, service.Width{}) < size ||
			length(service.Sort, 7, n-1, service.Width{}) >= size {
			t.Errorf("sort of %d B: %d, %v", size, n, err)
		}
	}
	if _, err := service.SizeToN(service.IO, 7, 1<<31-1, service.Width{}); err == nil {
		t.Error("2 GiB pass")
	}
}

func BenchmarkSizeToN(b *testing.B) {
	for _, name := range []service.Name{service.Sort, service.Concat, service.Sum} {
		b.Run(string(name), func(b *testing.B) {
			for b.Loop() {
				if _, err := service.SizeToN(name, 7, 10_000_000, service.Width{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
