package fleet

import "slices"

// A Stamp says which of two orders for a bench was written later: one of several hubs may
// answer with what another has replaced.
type Stamp struct {
	Writer string `json:"writer,omitempty"` // of a coordinator's board, drawn when it was opened; empty: nobody stamped it
	Number uint64 `json:"number,omitempty"` // of what that has written, from 1
}

// mostWriters are remembered: no hub is so far behind that it answers with what more
// coordinators before wrote.
const mostWriters = 16

// stamps are the last that was heard of each writer, in the order in which they wrote.
type stamps []Stamp

// older says whether something newer than x was heard before. If not, x is the newest.
func (s *stamps) older(x Stamp) bool {
	if x.Writer == "" {
		return false
	}
	all, last := *s, len(*s)-1
	i := slices.IndexFunc(all, func(o Stamp) bool { return o.Writer == x.Writer })
	if i >= 0 {
		// What a writer has written last, before another wrote, is told again by nobody else.
		if x.Number < all[i].Number || x.Number == all[i].Number && i < last {
			return true
		}
		all = slices.Delete(all, i, i+1)
	}
	all = append(all, x)
	*s = slices.Clone(all[max(len(all)-mostWriters, 0):])
	return false
}
