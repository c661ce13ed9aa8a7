package measure

import "edgegauge.example/edgegauge/internal/lazy"

// Late reports whether a request failed since it had no answer in time, in the words of its client: those of the
// drivers, stacks and languages here. That is what waiting for a CPU can do, a refused connection included, as of a
// full queue. A status, a wrong answer, one that breaks off, and any words that are not known are no such thing.
func Late(failure string) bool { return late().MatchString(failure) && !answers().MatchString(failure) }

var (
	late = lazy.Regexp(`(?i)time-?out|timed out|\bin time\b|deadline|(no (response|answer|reply|notification)\b)|` +
		`connection refused|econnrefused|temporarily unavailable|^the run ended$`)
	// answers begin so, and may quote anything behind it.
	answers = lazy.Regexp(`(?i)^((http|grpc) )?status\b|^HTTP/|^[1-5]\d\d\b|^[2-7]\.\d\d\b|refused (with|the)\b|` +
		`^the (service|broker) refused|\bfault\b`)
)
