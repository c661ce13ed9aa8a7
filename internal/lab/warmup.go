package lab

import (
	"cmp"
	"encoding/json"
	"fmt"

	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/store"
)

// keepWarmUp writes why requests of the warm-up failed, which no record tells.
func (t *trialRunner) keepWarmUp() error {
	w := &t.conversation.warmUp
	if w.Failed == 0 {
		return nil
	}
	b, err := json.MarshalIndent(store.WarmUp{Requests: w.Client, Failed: w.Failed, FirstFailure: w.FirstFailure},
		"", "  ")
	if err == nil {
		err = t.attempt.Keep(store.WarmUpFile, append(b, '\n'))
	}
	return labFault(err)
}

// warm: a warm-up of which no request was answered, or that never was, warmed nothing up. Of devices, failures are what
// is measured, in the warm-up too.
func (e *evidence) warm() string {
	w := &e.conversation.warmUp
	if e.missed(w) {
		return fmt.Sprintf("the client counted %d requests of the warm-up, the server %d", w.Client, w.Server)
	}
	if w.Failed == 0 || w.Failed < w.Client || e.overload || e.devices != nil ||
		lostByLink(e.setup, e.link, w.Failed, w.Client) {
		return ""
	}
	return fmt.Sprintf("all %d requests of the warm-up failed; first failure: %s", w.Failed,
		cmp.Or(w.FirstFailure, "the client does not say why"))
}

// missed reports whether the server had another number of the warm-up's requests than the client sent: of those that
// failed it may know none, and behind a link that loses it may have seen some twice.
func (e *evidence) missed(w *stack.WarmUp) bool {
	if existing(e.setup) || e.devices != nil || e.lossy {
		return false
	}
	return w.Server < w.Client-w.Failed || w.Failed == 0 && w.Repeated == 0 && w.Server != w.Client
}
