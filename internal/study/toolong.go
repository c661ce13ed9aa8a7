package study

import (
	"fmt"
	"strings"
	"time"
)

// ended is in the reason of an attempt that took longer than a trial may; the reasons of earlier versions have it, too.
const ended = "(timeouts.trial)"

// TooLong is why an attempt is ended that takes longer than a trial may.
func TooLong(most time.Duration) error {
	return fmt.Errorf("the trial took longer than %s %s", DurationText(most), ended)
}

// WasTooLong reports whether an attempt was ended for that, by its reason in the ledger.
func WasTooLong(reason string) bool { return strings.Contains(reason, ended) }
