package stat

import (
	"errors"
	"fmt"
	"math"
)

// MostBlocks is beyond what anybody runs.
const MostBlocks = 100_000

// ErrTooMany says that no practical number of blocks finds a difference.
var ErrTooMany = errors.New("too many blocks")

// DefaultPilot is how many blocks a pilot has where nobody says another number.
const DefaultPilot = 10

// AfterPilot is the level at which a t test of all trials is judged so that it errs no more often than level, where the
// spread of the first pilot blocks said how many there are; 0: nothing did. Few follow a pilot that spreads little by
// chance, and its spread is then a large part of what all show: of equals, up to 1.8 times as many are told apart as
// the level of the t test says, after a pilot of 3 to 5 blocks up to 2.7 times.
func AfterPilot(level float64, pilot int) float64 {
	switch {
	case pilot == 0:
		return level
	case pilot < DefaultPilot:
		return level / 3
	}
	return level / 2
}

// Blocks is the number of blocks after which a t test of paired differences at the
// two-sided level alpha finds a true difference of effect with at least the given
// power (0.5 to 1). sd is that of the paired differences of a pilot, with df degrees
// of freedom. It is the first stage of Stein (1945): (sd·(t(1-alpha/2, df) +
// t(power, df))/effect)², where the quantiles of t make up for what a small pilot
// does not know of sd. Beyond MostBlocks it is ErrTooMany.
func Blocks(sd, df, effect, alpha, power float64) (int, error) {
	if !(alpha > 0 && alpha < 1) || !(power > 0.5 && power < 1) {
		return 0, fmt.Errorf("level %v and power %v do not size anything; write 0.05 and 0.8", alpha, power)
	}
	if !(sd >= 0) || !(df >= 1) || !(math.Abs(effect) > 0) || math.IsInf(sd, 0) {
		return 0, fmt.Errorf("%w: a pilot of %v degrees of freedom with standard deviation %v sizes no test; run 3 blocks "+
			"or more", ErrTooFew, df, sd)
	}
	n := math.Ceil(math.Pow(sd*(tCritical(1-alpha, df)+tCritical(2*power-1, df))/effect, 2))
	if n > MostBlocks {
		return 0, fmt.Errorf("%w: more than %d; look for a larger difference", ErrTooMany, MostBlocks)
	}
	return max(2, int(n)), nil
}
