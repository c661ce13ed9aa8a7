package advise

import (
	"strings"
	"testing"
)

// A share is 1 at most: a bound above it, which all meet, was meant as a percentage.
func TestABoundOnAShare(t *testing.T) {
	for text, ok := range map[string]bool{"failed_share < 5": false, "failed_share < 5%": true,
		"failed_share < 0.05": true, "failed_share <= 1": true, "failed_share > 101%": false,
		"notifications_missed < 2": false, "resent < 5": true, "client.failed_share.p95 < 3": false} {
		_, err := ParseRequirement(text)
		if ok && err != nil || !ok && (err == nil || !strings.Contains(err.Error(), "is a share, of 100 % at most; write")) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
