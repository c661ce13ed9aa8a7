package instrument

import (
	"context"
	"time"
)

type startKey struct{}

// WithStart sets the instant from which Sample.At counts, on this process's
// monotonic clock. Without it At counts from the call of Observe.
func WithStart(ctx context.Context, t time.Time) context.Context {
	return context.WithValue(ctx, startKey{}, t)
}

func start(ctx context.Context) time.Time { return Start(ctx) }

// Start is the instant from which Sample.At counts.
func Start(ctx context.Context) time.Time {
	if t, ok := ctx.Value(startKey{}).(time.Time); ok {
		return t
	}
	return time.Now()
}
