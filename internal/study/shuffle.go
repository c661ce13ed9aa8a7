package study

import "math/bits"

// A generator is SplitMix64 (Steele, Lea & Flood 2014, section 5): a counter
// with the golden gamma, and a mixer. It is written here, not taken from
// math/rand, so that a plan stays the same under every version of Go.
type generator struct{ state uint64 }

func (g *generator) next() uint64 {
	g.state += 0x9e3779b97f4a7c15
	return mix(g.state)
}

func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// below is uniform in [0, n): the high word of a product, where the few low
// words that would favour some numbers are drawn again (Lemire 2019, section 4).
func (g *generator) below(n uint64) uint64 {
	hi, lo := bits.Mul64(g.next(), n)
	if lo < n {
		for short := -n % n; lo < short; {
			hi, lo = bits.Mul64(g.next(), n)
		}
	}
	return hi
}

// shuffle is Fisher and Yates, from the last to the second (Knuth, volume 2,
// section 3.4.2, algorithm P).
func shuffle(g *generator, order []int) {
	for i := len(order) - 1; i > 0; i-- {
		j := g.below(uint64(i) + 1)
		order[i], order[j] = order[j], order[i]
	}
}

// What a stream of random numbers is for. Streams of one block share nothing.
const (
	forOrder    = 1
	forMessages = 2
)

// stream is the generator of one purpose in one block. It depends on nothing
// else, so a longer plan begins as a shorter one.
func stream(seed uint64, block int, purpose uint64) generator {
	s := mix(seed + 0x9e3779b97f4a7c15)
	s = mix(s ^ uint64(block)*0xd1342543de82ef95)
	return generator{mix(s + purpose*0x9e3779b97f4a7c15)}
}
