package coap

// A byUse is a list ordered by last use, first the longest ago. Its members embed their links, so none of its methods
// takes memory: a server calls them for every datagram.
type byUse[T any, P linked[T]] struct {
	first, last P
	n           int
}

// links are a member's place in its list.
type links[T any] struct{ prev, next *T }

func (l *links[T]) place() *links[T] { return l }

type linked[T any] interface {
	*T
	place() *links[T]
}

func (l *byUse[T, P]) push(x P) {
	*x.place() = links[T]{prev: l.last}
	if l.last == nil {
		l.first = x
	} else {
		l.last.place().next = x
	}
	l.last = x
	l.n++
}

func (l *byUse[T, P]) remove(x P) {
	at := x.place()
	if at.prev == nil {
		l.first = at.next
	} else {
		P(at.prev).place().next = at.next
	}
	if at.next == nil {
		l.last = at.prev
	} else {
		P(at.next).place().prev = at.prev
	}
	*at = links[T]{}
	l.n--
}

func (l *byUse[T, P]) touch(x P) {
	if l.last != x {
		l.remove(x)
		l.push(x)
	}
}
