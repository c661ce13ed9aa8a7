package drive

// A ring is a queue of lanes, as long as there are lanes.
type ring struct {
	lanes []*lane
	at, n int
}

func newRing(n int) ring { return ring{lanes: make([]*lane, n)} }

func (r *ring) head() *lane { return r.lanes[r.at] }

// get is the i-th, from 0.
func (r *ring) get(i int) *lane { return r.lanes[(r.at+i)%len(r.lanes)] }

func (r *ring) push(l *lane) {
	r.lanes[(r.at+r.n)%len(r.lanes)] = l
	r.n++
}

// insert puts l among lanes that stand in the order of their requests.
func (r *ring) insert(l *lane) {
	r.push(l)
	for i := r.n - 1; i > 0 && r.get(i-1).seq > l.seq; i-- {
		a, b := (r.at+i-1)%len(r.lanes), (r.at+i)%len(r.lanes)
		r.lanes[a], r.lanes[b] = r.lanes[b], r.lanes[a]
	}
}

func (r *ring) pop() {
	r.at = (r.at + 1) % len(r.lanes)
	r.n--
}

// A queue is one that lanes may leave from the middle: a doubly linked list over
// their numbers, -1 at the ends.
type queue struct {
	lanes      []*lane // by number; nil: not in it
	next, prev []int
	head, tail int
}

func newQueue(n int) queue {
	return queue{lanes: make([]*lane, n), next: make([]int, n), prev: make([]int, n), head: -1, tail: -1}
}

func (q *queue) empty() bool { return q.head < 0 }

// first is the one that has been in it longest, nil if there is none.
func (q *queue) first() *lane {
	if q.head < 0 {
		return nil
	}
	return q.lanes[q.head]
}

func (q *queue) push(l *lane) {
	i := l.number
	q.lanes[i], q.prev[i], q.next[i] = l, q.tail, -1
	if q.tail < 0 {
		q.head = i
	} else {
		q.next[q.tail] = i
	}
	q.tail = i
}

func (q *queue) remove(l *lane) {
	i := l.number
	if q.prev[i] < 0 {
		q.head = q.next[i]
	} else {
		q.next[q.prev[i]] = q.next[i]
	}
	if q.next[i] < 0 {
		q.tail = q.prev[i]
	} else {
		q.prev[q.next[i]] = q.prev[i]
	}
	q.lanes[i] = nil
}
