package population

// A device is switched on once, when its turn of the ramp comes. In later runs it is on from the
// beginning, unless it is to keep a connection and has lost it: then it is switched on anew.

// onAt is when a device is switched on, in ns of the run.
func (c *core) onAt(i int32) int64 {
	at := c.start(c.number(i))
	if at < c.passed && (c.keeps == nil || c.keeps(i)) {
		return 0
	}
	return at
}

// dueAt is when report number k of a device is due, in ns of the run.
func (c *core) dueAt(i int32, k int32) int64 { return c.due(c.number(i), k, c.onAt(i)) }

// pass notes that a run has ended at an instant. One that has a time counts whole: it ends
// sooner only where nobody has anything left to do.
func (c *core) pass(now int64) { c.passed = max(c.passed, now, c.lasts) }

// ramp begins to count who is switched on in a run, and says how many will be by its end.
func (c *core) ramp() (all int) {
	c.on, c.turned = 0, 0
	for i := range c.devices {
		at := c.onAt(int32(i))
		if at == 0 {
			c.on++
		}
		if at < c.span {
			all++
		}
	}
	return all
}

// switchedOn is how many devices are on by an instant, which does not go back in a run.
func (c *core) switchedOn(now int64) int {
	for now = min(now, c.span); c.turned < len(c.devices); c.turned++ {
		i := int32(c.turned)
		if c.start(c.number(i)) >= now {
			break
		}
		if c.onAt(i) > 0 {
			c.on++
		}
	}
	return c.on
}
