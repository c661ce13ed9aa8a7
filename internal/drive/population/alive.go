package population

import "edgegauge.example/edgegauge/internal/protocol/coap"

// Devices that ping after a silence, whatever they wait for: an MQTT client must (section 3.1.2.10 of MQTT 3.1.1 and
// 5.0), and a NAT forgets who is silent. Only a CoAP request that is not acknowledged yet holds pings up, since one
// message at a time may wait for that (RFC 7252, section 4.7); it is sent again itself.

// hushes makes what is needed where devices ping.
func (c *core) hushes() {
	pings := c.Stream != nil && c.Stream.mqtt() // a broker may ask for it
	for i := range c.Classes {
		pings = pings || c.Stream == nil && c.Classes[i].KeepAlive > 0
	}
	if !pings {
		return
	}
	c.said = fill(len(c.devices), unsent)
	if c.Stream == nil {
		c.pingID = make([]uint16, len(c.devices))
	}
}

// hushAgain sets silences to the beginning of a run: those of the run before last on.
func (c *core) hushAgain() {
	for i := range c.said {
		if c.said[i] != unsent {
			c.said[i] = min(c.said[i]-c.ended, 0)
		}
	}
	for i := range c.pingID {
		c.pingID[i] = c.firstPing(int32(i))
	}
}

// firstPing is the message ID before those of a device's pings in a run. Those of its requests are far from it.
func (c *core) firstPing(i int32) uint16 {
	return uint16(draw(c.Seed, c.number(i), forMessage)) + c.salt + 1<<15
}

// speaks notes that a device says something.
func (c *core) speaks(i int32, now int64) {
	if c.said != nil {
		c.said[i] = now
	}
}

// post has a message sent.
func (c *core) post(m message, now int64) {
	c.out = append(c.out, m)
	c.speaks(m.device, now)
}

// alive is after how many ns of silence a device sends a ping; 0: never.
func (c *core) alive(i int32) int64 {
	if c.Stream != nil && !c.Stream.mqtt() {
		return 0 // the kernel probes
	}
	alive := int64(c.classOf(c.number(i)).KeepAlive)
	if c.patience > 0 && (alive == 0 || c.patience < alive) {
		return c.patience
	}
	return alive
}

// pingAt is when a device pings if it says nothing until then; never: it does not, or nobody is there who would answer.
func (c *core) pingAt(i int32) int64 {
	if c.said == nil || c.said[i] == unsent || c.sessions != nil && !c.sessionOpen(i) {
		return never
	}
	if alive := c.alive(i); alive > 0 {
		return c.said[i] + alive
	}
	return never
}

// pingInTime sends CoAP's ping if it is time to.
func (c *core) pingInTime(i int32, now int64) {
	if now < c.pingAt(i) {
		return
	}
	c.pingID[i]++
	c.Pings++
	c.post(message{i, c.pingID[i], ping}, now)
}

// isPong says whether a message answers one of the pings of the run.
func (c *core) isPong(i int32, m *coap.Message) bool {
	if m.Type != coap.Reset || c.pingID == nil {
		return false
	}
	first := c.firstPing(i)
	age := m.ID - first
	return age > 0 && age <= c.pingID[i]-first
}
