package lab

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"edgegauge.example/edgegauge/internal/drive/population"
	"edgegauge.example/edgegauge/internal/link"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/study"
)

// populated says whether the client of a treatment is many devices.
func populated(s *study.Setup) bool { return s.Population.Devices > 0 }

// populationSpec is what the client is told of its devices. Server, message and timeout
// are in the rest of the call.
func populationSpec(p *study.Population, seed uint64) population.Spec {
	s := population.Spec{Devices: p.Devices, Phase: p.Phase, Ramp: p.Ramp, Seed: seed,
		Retry: population.Backoff{First: p.Reconnect.First, Factor: p.Reconnect.Factor, Most: p.Reconnect.Most,
			Jitter: p.Reconnect.Jitter},
		NAT:    max(p.NAT, 0),
		Outage: population.Outage{At: p.Outage.At, For: p.Outage.For, Share: p.Outage.Share},
	}
	for _, c := range p.Mix {
		s.Classes = append(s.Classes, population.Class{Name: c.Name, Share: c.Share, Period: c.Period, Jitter: c.Jitter,
			KeepAlive: c.KeepAlive, Observe: c.Observe, Sleep: population.Sleep(c.Sleep)})
	}
	if len(p.Mix) == 0 {
		s.Classes = []population.Class{{Share: 1, Period: p.Period, Jitter: p.Jitter, KeepAlive: p.KeepAlive,
			Observe: p.Observe, Sleep: population.Sleep(p.Sleep)}}
	}
	return s
}

// tellPopulation puts the devices into the client's call.
func (t *task) tellPopulation(call *stack.Call) error {
	if !populated(t.setup) {
		return nil
	}
	var err error
	spec := populationSpec(&t.setup.Population, t.plan.MessageSeed)
	switch l, ok := t.link(); {
	case ok:
		spec.Up, spec.Down = way(l.Up), way(l.Down)
	case t.setup.Link.Profile != "":
		return fmt.Errorf("%w: no link profile %q", errLab, t.setup.Link.Profile)
	}
	call.Population, err = json.Marshal(spec)
	return err
}

// way is a direction of the link that each device has.
func way(s link.Shape) population.Way {
	return population.Way{Delay: s.Delay, Spread: s.DelayStdDev, Loss: s.Loss, Rate: s.Rate, Overhead: s.Overhead,
		Frame: s.Frame, Reorder: s.Reorder}
}

// showDevices hands on how the devices are.
func (l *Lab) showDevices(told json.RawMessage) {
	var s population.State
	if l.WatchDevices != nil && json.Unmarshal(told, &s) == nil {
		l.WatchDevices(s)
	}
}

// takePopulation reads the client's account of its devices. Figures of single requests
// come from the records, which may be a sample; counts are of all.
func (t *trialRunner) takePopulation(e stack.End, sums *accumulator) error {
	if !populated(t.setup) {
		return nil
	}
	r := new(population.Result)
	if err := json.Unmarshal([]byte(e.Population), r); err != nil {
		return fmt.Errorf("the client says nothing of its devices: %w", err)
	}
	t.course.population = r
	if kept := float64(sums.n); kept > 0 && float64(r.Requests) > kept {
		all := float64(r.Requests) / kept
		sums.in, sums.out = int64(float64(sums.in)*all), int64(float64(sums.out)*all)
	}
	sums.n, sums.failed, sums.last = int(r.Requests), int(r.Failed), int64(r.Elapsed)
	return nil
}

// ofDevices are the responses that a population gives, beside those of one figure a trial.
var ofDevices = []string{"rtt", "response_time", "message_size", "response_size"}

// summarizePopulation adds what only devices have.
func (t *trialRunner) summarizePopulation() {
	f, r := &t.findings, t.course.population
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
		one("sent_rate", n/t.stated().Seconds())
		one("failed_share", float64(r.Failed)/n)
		one("resent", float64(r.Retransmissions)/n)
		if !r.Streams {
			one("datagram_bytes", float64(r.BytesOut+r.BytesIn)/n)
		}
		one("driver_lateness", r.LatenessP99.Seconds())
	}
	if t.setup.Population.Observes() {
		one("notification_rate", float64(r.Notifications-r.HeardLate)/t.stated().Seconds())
		if all := r.Notifications + r.Missed; !r.Streams && all > 0 {
			one("notifications_missed", float64(r.Missed)/float64(all))
		}
	}
	switch {
	case r.Recovery >= 0:
		one("recovery_time", r.Recovery.Seconds())
	case t.setup.Population.Outage.For > 0:
		one("recovery_time", math.NaN()) // without a row nobody would know that the others are the lucky ones
	}
	for _, x := range notesOfDevices(r) {
		f.note(x.key, "1", float64(x.value))
	}
	if ramp := t.setup.Population.Ramp; ramp > 0 {
		f.note("ramp", "1/s", ramp)
	}
	f.note("lateness_p50", "s", r.LatenessP50.Seconds())
	f.note("lateness_p99", "s", r.LatenessP99.Seconds())
	f.note("lateness_max", "s", r.LatenessMax.Seconds())
}

// stated is for how long devices report, as the study says. A run takes longer where its last answer is late, or none
// comes, and no more is sent then.
func (t *trialRunner) stated() time.Duration { return max(time.Duration(t.course.asked.Duration), 1) }

// A counted is one count of a trial's quality record.
type counted struct {
	key   string
	value int64
}

// notesOfDevices are what was counted besides the responses.
func notesOfDevices(r *population.Result) []counted {
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
func notesOfHearing(r *population.Result) (notes []counted) {
	for _, x := range []counted{
		{"observers", r.Observers}, {"registrations", r.Registrations}, {"registrations_failed", r.RegistrationsFailed},
		{"notifications", r.Notifications}, {"notifications_missed", r.Missed}, {"notifications_stale", r.Stale},
		{"nat_forgotten", r.Forgotten}, {"lost_at_nat", r.LostAtNAT}, {"lost_asleep", r.LostAsleep},
		{"kept_until_paged", r.Paged}, {"lost_by_link", r.LostOnWay},
	} {
		if x.value > 0 {
			notes = append(notes, x)
		}
	}
	return notes
}

// populationGates judge a trial of many devices. Failed requests are what it measures, unless the study bounds them;
// a driver that was late, or lost answers, is no measurement.
func (t *trialRunner) populationGates() []func() string {
	return []func() string{t.devicesCounted, t.records, t.devicesAnswered, t.answers, t.outageMet, t.warm, t.accounts,
		t.punctual, t.devicesDriver, t.stalled}
}

// devicesCounted: the devices' account agrees with itself and with the server's. A
// request that failed may have reached the server; one that was sent again, twice.
func (t *trialRunner) devicesCounted() string {
	r, served := t.course.population, int64(t.course.sides[atServer].n)
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
	case existing(t.setup): // its own count is not known
	case served < r.Answered || served > mostServed:
		return fmt.Sprintf("the devices counted %d requests, %d of them answered, and %d sent again; the server %d",
			r.Requests, r.Answered, r.Retransmissions, served)
	}
	return ""
}

// devicesAnswered: an answer that comes is right.
func (t *trialRunner) devicesAnswered() string {
	c, r := &t.course.sides[atClient], t.course.population
	switch {
	case r.Wrong > 0:
		return fmt.Sprintf("%d of %d answers were wrong; first failure: %s", r.Wrong, r.Answered+r.Wrong, c.why)
	case r.Unobserved > 0:
		return fmt.Sprintf("%d of %d registrations were answered, and register nobody: the server does not notify of what "+
			"devices observe", r.Unobserved, r.Registrations)
	case r.RegistrationsFailed > 0 && r.RegistrationsFailed == r.Registrations && r.Notifications == 0:
		return fmt.Sprintf("none of %d registrations was answered", r.Registrations)
	case r.Requests > 0 && r.Answered == 0:
		return fmt.Sprintf("none of %d requests was answered; first failure: %s", r.Requests, c.why)
	}
	return ""
}

// outageMet: somebody could notice the outage that the study asks for.
func (t *trialRunner) outageMet() string {
	if t.setup.Population.Outage.For > 0 && t.course.population.Withheld == 0 {
		return "the outage met nobody: nothing was sent to or by the devices that it cut off; let it last for a period, or " +
			"be at an instant at which devices report"
	}
	return ""
}

// punctual: the driver sent when devices were due, and read what came.
func (t *trialRunner) punctual() string {
	r, bound := t.course.population, t.setup.Population.Lateness
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

// devicesDriver: the client had time to spare.
func (t *trialRunner) devicesDriver() string {
	const busiest = 0.8
	r := t.course.population
	if share := r.CPU.Seconds() / t.stated().Seconds() / float64(max(r.Shards, 1)); share >= busiest {
		return fmt.Sprintf("the driver was busy for %.0f %% of the run: with so many devices it measures itself; "+
			"take fewer, or a longer period", 100*share)
	}
	return ""
}
