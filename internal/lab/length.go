package lab

import (
	"fmt"
	"time"

	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/study"
)

// longEnough is how long a run has to last to have so many requests, at the pace of
// the warm-up and with a quarter more, and no less than least. It is limited by time
// only: a program knows "requests or duration, the nearer one", and becomes quicker
// while it runs, so that a number would end it too soon.
func longEnough(requests int, least time.Duration, warmUp stack.WarmUp) time.Duration {
	seems := warmUp.Ended.Sub(warmUp.Began) / time.Duration(max(1, warmUp.Client)) * time.Duration(requests)
	return max(least, seems+seems/4)
}

// tooFew says that a run limited by time had fewer requests than the study wants. One in which requests failed that may
// has as many as it has: to refuse the time that a failure takes would keep the lucky trials.
func (e *evidence) tooFew() string {
	c, want := &e.sides[atClient], e.setup.Requests
	n := c.n
	if e.setup.MinDuration == 0 || n >= want || c.failed > 0 && e.mayFail() != nil {
		return ""
	}
	return fmt.Sprintf("%d requests were recorded in %s, at least %d were requested: the run was slower than its warm-up",
		n, study.DurationText(time.Duration(e.conversation.asked.Duration)), want)
}
