package lab

import (
	"slices"

	"edgegauge/internal/store"
)

// timeless keeps no times of a trial one of whose sides ran where instructions
// are counted: they would be the counter's.
func (r *rig) timeless() {
	if r.usage[atClient][1].Instructions+r.usage[atServer][1].Instructions == 0 {
		return
	}
	r.results = slices.DeleteFunc(r.results, func(x store.Result) bool {
		return !slices.Contains([]string{"instructions", "message_size", "response_size"}, x.Response)
	})
}
