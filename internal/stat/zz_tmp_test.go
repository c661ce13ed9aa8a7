package stat

import "testing"

func TestZZ(t *testing.T) {
	for seed := range uint64(10) {
		searchesHold(t, 100+seed, false)
	}
}
