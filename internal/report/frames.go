package report

import (
	"cmp"
	"fmt"
	"slices"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
)

// ethernetHeader is what captured frames begin with over loopback, a veth or an Ethernet, in B. A link of ours carries
// bare IP packets.
const ethernetHeader = 14

// ofFrames are the responses that count whole frames.
var ofFrames = []string{"wire_bytes", "handshake_bytes"}

// frameHeader is how many bytes of an Ethernet header each frame of a treatment has; false: the results do not say.
func (r *Report) frameHeader(treatment int) (bytes int, known bool) {
	s := r.Treatments[treatment].setup
	if s == nil || s.URL != "" && !IsLocal(s.URL) {
		return 0, false
	}
	linked := s.Link.Text != "none" && s.Link.Text != "" && s.Population.Devices == 0 // theirs are in the driver
	if linked && cmp.Or(r.Facts.Links[s.Link.Text].Shaper, s.Link.Shaper) == "" {
		return 0, true
	}
	return ethernetHeader, true
}

// packetBytes are the bytes on the wire for a request as a network counts them: those of IP packets. The interval is
// that of the frames. header is what each packet had before it and, not ok, still has: how many packets there were is
// not known.
func (r *Report) packetBytes(treatment int, frames stat.Summary) (bytes stat.Summary, header int, ok bool) {
	header, known := r.frameHeader(treatment)
	if !known {
		return frames, ethernetHeader, false
	}
	if header == 0 {
		return frames, 0, true
	}
	packets, ok := r.Cell(treatment, measure.Client, "packets")
	if !ok {
		return frames, header, false
	}
	less := float64(header) * packets.Mean.Center
	frames.Center, frames.Lo, frames.Hi = frames.Center-less, frames.Lo-less, frames.Hi-less
	return frames, header, true
}

// countsFrames reports whether a treatment has a figure of whole frames.
func (r *Report) countsFrames(treatment int) bool {
	return slices.ContainsFunc(ofFrames, func(response string) bool {
		_, ok := r.Cell(treatment, measure.Client, response)
		return ok
	})
}

// doubtFrames says which treatments have an Ethernet header in each frame, where others have none.
func (r *Report) doubtFrames() {
	of := map[int][]string{}
	for i, t := range r.Treatments {
		if n, known := r.frameHeader(i); known && r.countsFrames(i) && !r.isFloor(t.Stack) {
			of[n] = append(of[n], t.Name())
		}
	}
	if len(of[0]) > 0 && len(of[ethernetHeader]) > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("bytes on the wire are not alike: each packet of %s has %d B of an "+
			"Ethernet header in wire_bytes and handshake_bytes, and none of %s, whose link carries bare IP packets",
			list(of[ethernetHeader], mostNames), ethernetHeader, list(of[0], mostNames)))
	}
}

// framesDiffer says that levels of a response of whole frames may differ by what only the frames of some have.
func (r *Report) framesDiffer(e *Effects) {
	if !slices.Contains(ofFrames, e.Response) {
		return
	}
	of := map[int]bool{}
	for i, t := range r.Treatments {
		_, has := r.Cell(i, e.Side, e.Response)
		if n, known := r.frameHeader(i); has && known && !r.isFloor(t.Stack) {
			of[n] = true
		}
	}
	if len(of) > 1 {
		e.Warnings = append(e.Warnings, fmt.Sprintf("levels with a link of edgegauge and without one differ by the Ethernet "+
			"header, too: %d B of each packet of those without", ethernetHeader))
	}
}

// frameDifference says that a treatment of both has an Ethernet header in each frame of one, and none in the other's.
func frameDifference(old, new *Report) string {
	for i, t := range new.Treatments {
		was, ok := old.places[placeKey(t.Levels)]
		if !ok || !slices.Equal(old.Factors, new.Factors) || !old.countsFrames(was) || !new.countsFrames(i) {
			continue
		}
		a, known := old.frameHeader(was)
		b, too := new.frameHeader(i)
		if known && too && a != b {
			return fmt.Sprintf("Ethernet header in wire_bytes and handshake_bytes: %d B of each packet before, %d B now", a, b)
		}
	}
	return ""
}
