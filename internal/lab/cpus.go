package lab

import (
	"edgegauge.example/edgegauge/internal/study"
)

// CPUsOf are the CPUs of both sides of a treatment: those that the study pins them
// to, else those that the placement picks from all, the quietest first.
func CPUsOf(s *study.Setup, pinned study.Pin, all []int) study.Pin {
	switch {
	case len(pinned.Client)+len(pinned.Server) > 0 || len(all) == 0:
		return pinned
	case s.Placement == study.Together:
		return study.Pin{Client: all[:1], Server: all[:1]}
	case s.Placement == study.Apart && len(all) > 1:
		return study.Pin{Client: all[1:2], Server: all[:1]}
	}
	return pinned
}
