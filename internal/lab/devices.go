package lab

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"edgegauge.example/edgegauge/internal/drive/population"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/study"
)

// devices are a client that is many: what the study asks of them, and what became of them.
type devices struct {
	asked   *study.Population
	account *population.Account // as the client says at the end of its records; nil: it has not yet, or is one
}

// take reads the client's account of its devices. Figures of single requests
// come from the records, which may be a sample; counts are of all.
func (d *devices) take(e stack.End, sums *accumulator) error {
	if d.asked.Devices == 0 {
		return nil
	}
	r := new(population.Account)
	if err := json.Unmarshal([]byte(e.Population), r); err != nil {
		return fmt.Errorf("the client says nothing of its devices: %w", err)
	}
	d.account = r
	if kept := float64(sums.n); kept > 0 && float64(r.Requests) > kept {
		all := float64(r.Requests) / kept
		sums.in, sums.out = int64(float64(sums.in)*all), int64(float64(sums.out)*all)
	}
	sums.n, sums.failed, sums.last = int(r.Requests), int(r.Failed), int64(r.Elapsed)
	sums.given, sums.endless = 0, false
	return nil
}

// ofDevices are the responses that a population gives, beside those of one figure a trial.
var ofDevices = []string{"rtt", "response_time", "message_size", "response_size"}

// summarize adds what only devices have, which report for so long, as the study says. A run takes longer where its last
// answer is late, or none comes, and no more is sent then.
func (d *devices) summarize(f *findings, stated time.Duration) {
	r := d.account
	if r == nil {
		return
	}
	// Nobody serializes or connects: the figures would be 0, and no measurement.
	f.results = slices.DeleteFunc(f.results, func(x store.Result) bool {
		m, ok := measure.FindResponse(x.Response)
		return ok && x.Side == measure.Client && x.N > 1 && !slices.Contains(ofDevices, m.Name)
	})
	one := func(response string, v float64) {
		f.results = append(f.results, single(measure.Client, response, v))
	}
	if n := float64(r.Requests); n > 0 {
		one("sent_rate", n/stated.Seconds())
		one("failed_share", float64(r.Failed)/n)
		if resent := float64(r.Retransmissions) / n; r.ResentUntold == 0 {
			one("resent", resent)
		} else {
			one("resent", math.NaN()) // not known, which is not 0
		}
		if !r.Streams {
			one("datagram_bytes", float64(r.BytesOut+r.BytesIn)/n)
		}
		one("driver_lateness", r.LatenessP99.Seconds())
	}
	if d.asked.Observes() {
		one("notification_rate", float64(r.Notifications-r.HeardLate)/stated.Seconds())
		if all := r.Notifications + r.Missed; !r.Streams && all > 0 {
			one("notifications_missed", float64(r.Missed)/float64(all))
		}
	}
	switch {
	case r.Recovery >= 0:
		one("recovery_time", r.Recovery.Seconds())
	case d.asked.Outage.For > 0:
		one("recovery_time", math.NaN()) // without a row nobody would know that the others are the lucky ones
	}
	for _, x := range notesOfDevices(r) {
		f.note(x.key, "1", float64(x.value))
	}
	if ramp := d.asked.Ramp; ramp > 0 {
		f.note("ramp", "1/s", ramp)
	}
	f.note("lateness_p50", "s", r.LatenessP50.Seconds())
	f.note("lateness_p99", "s", r.LatenessP99.Seconds())
	f.note("lateness_max", "s", r.LatenessMax.Seconds())
}

// A counted is one count of a trial's quality record.
type counted struct {
	key   string
	value int64
}

// notesOfDevices are what was counted besides the responses.
func notesOfDevices(r *population.Account) []counted {
	notes := []counted{
		{"devices", int64(r.Devices)}, {"devices_down_most", int64(r.DownMost)}, {"reports_skipped", r.Skipped},
		{"reports_retried", r.Retries}, {"answers_wrong", r.Wrong}, {"answers_duplicate", r.Duplicates},
		{"answers_late", r.TooLate},
		{"answers_separate", r.Separate}, {"pings", r.Pings}, {"pongs", r.Pongs}, {"strays", r.Strays},
		{"handshakes", r.Handshakes}, {"handshakes_failed", r.HandshakesFailed},
		{"datagrams_out", r.DatagramsOut}, {"datagrams_in", r.DatagramsIn}, {"datagrams_withheld", r.Withheld},
		{"datagrams_dropped", r.Dropped}, {"rows_kept", int64(r.Kept)},
	}
	notes = append(notes, notesOfHearing(r)...)
	if !r.Streams {
		return notes
	}
	notes = slices.DeleteFunc(notes, func(x counted) bool {
		return strings.HasPrefix(x.key, "datagrams") || x.key == "answers_separate" ||
			x.key == "answers_late" // its connection is closed
	})
	return append(notes, counted{"connections_opened", r.Connects}, counted{"connections_failed", r.ConnectFailed},
		counted{"connections_broken", r.Broken}, counted{"connections_most", r.OpenMost},
		counted{"messages_withheld", r.Withheld}, counted{"stream_bytes_out", r.BytesOut},
		counted{"stream_bytes_in", r.BytesIn}, counted{"driver_processes", int64(max(r.Shards, 1))})
}

// notesOfHearing are what was counted of observers, and of what did not reach devices; nothing
// where there was neither.
func notesOfHearing(r *population.Account) (notes []counted) {
	for _, x := range []counted{
		{"observers", r.Observers}, {"registrations", r.Registrations}, {"registrations_failed", r.RegistrationsFailed},
		{"notifications", r.Notifications}, {"notifications_missed", r.Missed}, {"notifications_stale", r.Stale},
		{"resent_untold", r.ResentUntold},
		{"nat_forgotten", r.Forgotten}, {"lost_at_nat", r.LostAtNAT}, {"lost_asleep", r.LostAsleep},
		{"kept_until_paged", r.Paged}, {"lost_by_link", r.LostOnWay},
	} {
		if x.value > 0 {
			notes = append(notes, x)
		}
	}
	return notes
}

// counts: the devices' account agrees with itself and with how many the server served; below 0: that is not known. A
// request that failed may have reached the server; one that was sent again, twice.
func (d *devices) counts(served int64) string {
	r := d.account
	if r == nil || r.Requests+r.Registrations+r.Notifications == 0 {
		return "no request was sent"
	}
	mostServed := r.Requests
	if !r.Streams { // what TCP sends again reaches the server's program once
		mostServed += r.Retransmissions
	}
	switch {
	case r.Answered+r.Failed != r.Requests:
		return fmt.Sprintf("%d requests were answered and %d failed, of %d", r.Answered, r.Failed, r.Requests)
	case served < 0:
	case served < r.Answered || served > mostServed:
		return fmt.Sprintf("the devices counted %d requests, %d of them answered, and %d sent again; the server %d",
			r.Requests, r.Answered, r.Retransmissions, served)
	}
	return ""
}

// answers: an answer that comes is right, and who observes is registered. Why is the first failure.
func (d *devices) answers(why string) string {
	r := d.account
	switch {
	case r.Wrong > 0:
		return fmt.Sprintf("%d of %d answers were wrong; first failure: %s", r.Wrong, r.Answered+r.Wrong, why)
	case r.Unobserved > 0:
		return fmt.Sprintf("%d of %d registrations were answered, and register nobody: the server does not notify of what "+
			"devices observe", r.Unobserved, r.Registrations)
	case r.RegistrationsFailed > 0 && r.RegistrationsFailed == r.Registrations && r.Notifications == 0:
		return fmt.Sprintf("none of %d registrations was answered", r.Registrations)
	}
	return ""
}

// outageMet: somebody could notice the outage that the study asks for.
func (d *devices) outageMet() string {
	if d.asked.Outage.For > 0 && d.account.Withheld == 0 {
		return "the outage met nobody: nothing was sent to or by the devices that it cut off; let it last for a period, or " +
			"be at an instant at which devices report"
	}
	return ""
}

// punctual: the driver sent when devices were due, and read what came.
func (d *devices) punctual() string {
	r, bound := d.account, d.asked.Lateness
	switch {
	case r.LatenessP99 > bound:
		return fmt.Sprintf("the driver was late: 1 %% of the requests left later than %v after they were due, %v is "+
			"allowed; take fewer devices, a longer period, more jitter or a quieter machine, or allow more with lateness",
			r.LatenessP99.Round(10*time.Microsecond), bound)
	case r.Dropped > 0:
		return fmt.Sprintf("the kernel dropped %d answers since the driver read too slowly; take fewer devices, "+
			"or let root raise net.core.rmem_max", r.Dropped)
	}
	return ""
}

// driver: the client had time to spare.
func (d *devices) driver(stated time.Duration) string {
	const busiest = 0.8
	r := d.account
	if share := r.CPU.Seconds() / stated.Seconds() / float64(max(r.Shards, 1)); share >= busiest {
		return fmt.Sprintf("the driver was busy for %.0f %% of the run: with so many devices it measures itself; "+
			"take fewer, or a longer period", 100*share)
	}
	return ""
}
