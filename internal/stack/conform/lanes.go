package conform

import (
	"slices"
	"sync"
)

// A queue holds the combinations that no lane has taken yet, and what each lane does.
type queue struct {
	mu   sync.Mutex
	left []suite
	now  map[int]string // the security of each lane's last combination
}

func newQueue(all []suite) *queue { return &queue{left: all, now: map[int]string{}} }

// next takes a combination for a lane: the first of the security that the lane has, since a server is started anew
// for another; else the first of a security that no lane has; else the first. There is none when all are taken.
func (q *queue) next(lane int) (next suite, more bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.left) == 0 {
		return suite{}, false
	}
	at := slices.IndexFunc(q.left, func(c suite) bool { return c.wish.Security == q.now[lane] })
	if at < 0 {
		at = slices.IndexFunc(q.left, func(c suite) bool { return !q.taken(c.wish.Security) })
	}
	at = max(at, 0)
	next = q.left[at]
	q.left = slices.Delete(q.left, at, at+1)
	q.now[lane] = next.wish.Security
	return next, true
}

// taken says whether a lane has the security.
func (q *queue) taken(security string) bool {
	for _, s := range q.now {
		if s == security {
			return true
		}
	}
	return false
}

// lane checks one combination after the other with the same programs, if they take that.
func (q *queue) lane(n int, held *programs) error {
	var leading suite
	for c, more := q.next(n); more; c, more = q.next(n) {
		c.all(held)
		if c.leading {
			leading = c
		}
	}
	if leading.leading {
		leading.errors(held) // at last: it ends programs
	}
	return held.close()
}
