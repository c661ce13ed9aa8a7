package testbed

import (
	"fmt"
	"slices"

	"edgegauge.example/edgegauge/internal/device"
	"edgegauge.example/edgegauge/internal/service"
	"edgegauge.example/edgegauge/internal/study"
)

// A giver is what gives responses, and nothing else does.
type giver struct {
	responses []string
	what      string // in words, and what to write
	is        func(s *study.Setup) bool
}

var givers = []giver{
	{[]string{"sent_rate", "resent", "datagram_bytes", "notification_rate", "notifications_missed", "driver_lateness",
		"recovery_time"}, "many devices (devices: 1000)", func(s *study.Setup) bool { return s.Population.Devices > 0 }},
	{[]string{"instructions"}, "a server on a device that counts them (server: {device: instructions-arm64})",
		func(s *study.Setup) bool {
			_, counts := device.FindCore(s.Server.Device)
			return counts || s.URL != "" // of which measuresOnlyServers speaks
		}},
	{[]string{"sensor_time"}, "service temperature",
		func(s *study.Setup) bool { return s.Service == string(service.Temperature) || s.URL != "" }},
}

// seeGiven finds responses that no treatment gives: a run would measure for nothing.
func (x *assembly) seeGiven() {
	for _, w := range x.plan.Study.Responses {
		for _, g := range givers {
			if !slices.Contains(g.responses, w.Text) {
				continue
			}
			given := false
			for t := range x.treatments() {
				given = given || g.is(t.Setup)
			}
			if !given {
				x.faults = append(x.faults, study.Error{Pos: w.Pos, What: fmt.Sprintf("response %s is measured of %s only, and no "+
					"treatment has that", w.Text, g.what), Advice: "remove it"})
			}
		}
	}
}
