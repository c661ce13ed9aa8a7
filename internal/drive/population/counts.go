package population

// Counts are what happened in a run, all devices together.
type Counts struct {
	Requests int64 `json:"requests"` // begun: sent for the first time
	Answered int64 `json:"answered"` // with a right answer
	Failed   int64 `json:"failed"`   // without; Requests = Answered + Failed
	Wrong    int64 `json:"wrong"`    // of Failed: an answer came, and it was not right
	Retries  int64 `json:"retries"`  // of Requests: a report that had failed before
	// Skipped reports were due while the device still waited for an answer, or tried
	// again: they are no requests.
	Skipped int64 `json:"skipped"`
	// Retransmissions are messages that CoAP (RFC 7252, section 4.2) or DTLS sent again, or
	// segments that TCP did.
	Retransmissions int64 `json:"retransmissions"`
	// ResentUntold are connections of which the kernel did not say what TCP sent again: Retransmissions lack it.
	ResentUntold int64 `json:"resent_untold,omitempty"`
	// TooLate are answers to a request that had been given up; Duplicates are those to one that had been
	// answered before; Strays are datagrams that are no answer to anything.
	TooLate    int64 `json:"too_late,omitempty"`
	Duplicates int64 `json:"duplicates"`
	Strays     int64 `json:"strays"`
	Separate   int64 `json:"separate"` // answers apart from their acknowledgement
	Pings      int64 `json:"pings"`
	Pongs      int64 `json:"pongs"`
	// Of streams: connections opened, attempts that failed, connections that ended
	// although the device wanted them, and how many there were at once, at most.
	Connects      int64 `json:"connects,omitempty"`
	ConnectFailed int64 `json:"connects_failed,omitempty"`
	Broken        int64 `json:"broken,omitempty"`
	OpenMost      int64 `json:"open_most,omitempty"`
	// Of DTLS: handshakes begun, and those that came to nothing.
	Handshakes       int64 `json:"handshakes,omitempty"`
	HandshakesFailed int64 `json:"handshakes_failed,omitempty"`
	// Of devices that observe: registrations that were sent, and that failed; notifications, and
	// those of them that came when the run's time was over; those that the server had numbered
	// and that did not come; those that were not newer than the one before; answers to
	// registrations that register nobody; and over MQTT too, notifications alone.
	Registrations       int64 `json:"registrations,omitempty"`
	RegistrationsFailed int64 `json:"registrations_failed,omitempty"`
	Notifications       int64 `json:"notifications,omitempty"`
	HeardLate           int64 `json:"heard_late,omitempty"`
	Missed              int64 `json:"missed,omitempty"`
	Stale               int64 `json:"stale,omitempty"`
	Unobserved          int64 `json:"unobserved,omitempty"`
	// Forgotten is how often a NAT had forgotten a device when it sent again, and LostAtNAT
	// the messages that did not pass it. LostAsleep came for radios that slept, and
	// Paged were kept until a radio woke.
	Forgotten  int64 `json:"forgotten,omitempty"`
	LostAtNAT  int64 `json:"lost_at_nat,omitempty"`
	LostAsleep int64 `json:"lost_asleep,omitempty"`
	Paged      int64 `json:"paged,omitempty"`
	LostOnWay  int64 `json:"lost_on_way,omitempty"` // by the devices' link
	// Withheld are datagrams to and from devices that the outage had cut off.
	Withheld     int64 `json:"withheld"`
	DatagramsOut int64 `json:"datagrams_out"`
	DatagramsIn  int64 `json:"datagrams_in"`
	BytesOut     int64 `json:"bytes_out"` // B of UDP payload
	BytesIn      int64 `json:"bytes_in"`
}

// add adds another's counts.
func (c *Counts) add(o *Counts) {
	for _, x := range []struct {
		to   *int64
		from int64
	}{
		{&c.Requests, o.Requests}, {&c.Answered, o.Answered}, {&c.Failed, o.Failed}, {&c.Wrong, o.Wrong},
		{&c.Retries, o.Retries}, {&c.Skipped, o.Skipped}, {&c.Retransmissions, o.Retransmissions},
		{&c.ResentUntold, o.ResentUntold},
		{&c.TooLate, o.TooLate},
		{&c.Duplicates, o.Duplicates}, {&c.Strays, o.Strays}, {&c.Separate, o.Separate}, {&c.Pings, o.Pings},
		{&c.Pongs, o.Pongs}, {&c.Connects, o.Connects}, {&c.ConnectFailed, o.ConnectFailed}, {&c.Broken, o.Broken},
		{&c.OpenMost, o.OpenMost}, {&c.Handshakes, o.Handshakes}, {&c.HandshakesFailed, o.HandshakesFailed},
		{&c.Registrations, o.Registrations}, {&c.RegistrationsFailed, o.RegistrationsFailed},
		{&c.Notifications, o.Notifications}, {&c.HeardLate, o.HeardLate}, {&c.Missed, o.Missed}, {&c.Stale, o.Stale},
		{&c.Unobserved, o.Unobserved},
		{&c.Forgotten, o.Forgotten}, {&c.LostAtNAT, o.LostAtNAT}, {&c.LostAsleep, o.LostAsleep}, {&c.Paged, o.Paged},
		{&c.LostOnWay, o.LostOnWay},
		{&c.Withheld, o.Withheld}, {&c.DatagramsOut, o.DatagramsOut},
		{&c.DatagramsIn, o.DatagramsIn}, {&c.BytesOut, o.BytesOut}, {&c.BytesIn, o.BytesIn},
	} {
		*x.to += x.from
	}
}
