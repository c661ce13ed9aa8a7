package study

import "slices"

// Keys are all keys of a study that are no settings: those at its top, and those inside others, after what they are in,
// such as design.seed, link.up or request.path.
func Keys() []string {
	all := keyNames(topKeys)
	for _, in := range []struct {
		of    string
		names []string
	}{{"design", keyNames(designKeys)}, {"timeouts", keyNames(timeoutKeys)}, {"limits", keyNames(limitKeys)},
		{"pin", keyNames(pinKeys)}, {"link", slices.Concat(linkKeys, []string{"up", "down", "name", "profile", "shaper"})},
		{"request", requestKeyNames()}} {
		for _, name := range in.names {
			all = append(all, in.of+"."+name)
		}
	}
	return all
}
