package measure

// A Prefix multiplies a unit.
type Prefix struct {
	Name   string
	Factor float64
}

// Prefixes are those that reports print, the largest first.
func Prefixes() []Prefix {
	return []Prefix{{"G", 1e9}, {"M", 1e6}, {"k", 1e3}, {"", 1}, {"m", 1e-3}, {"µ", 1e-6}, {"n", 1e-9}, {"p", 1e-12},
		{"f", 1e-15}}
}

// Prefixed reports whether a unit is written with prefixes, and whether with those that make it smaller, too.
func Prefixed(unit string) (is, small bool) {
	switch unit {
	case "B", "1/s":
		return true, false
	case "s", "J", "W", "B/s":
		return true, true
	}
	return false, false
}

// A Spelling is a way to write a unit, and how many of the unit it is.
type Spelling struct {
	Name   string
	Factor float64
}

// Spellings are all ways in which a unit can be written in a condition: those that reports print come first.
func Spellings(unit string) []Spelling {
	prefixed, small := Prefixed(unit)
	if !prefixed {
		return []Spelling{{"", 1}, {"%", 0.01}}
	}
	behind := unit
	if unit == "1/s" {
		behind = "/s"
	}
	var out, more []Spelling
	for _, p := range Prefixes() {
		if p.Factor < 1 && !small {
			continue
		}
		out = append(out, Spelling{p.Name + behind, p.Factor})
		if p.Name == "µ" { // the letter mu, and what keyboards have
			more = append(more, Spelling{"μ" + behind, p.Factor}, Spelling{"u" + behind, p.Factor})
		}
	}
	switch unit {
	case "s":
		more = append(more, Spelling{"min", 60})
	case "1/s":
		more = append(more, Spelling{"", 1})
	case "B":
		more = append(more, Spelling{"KB", 1e3}, Spelling{"KiB", 1 << 10}, Spelling{"MiB", 1 << 20},
			Spelling{"GiB", 1 << 30})
	}
	return append(out, more...)
}

// Spelled is how many of a unit one of a spelling is.
func Spelled(unit, name string) (factor float64, ok bool) {
	for _, s := range Spellings(unit) {
		if s.Name == name {
			return s.Factor, true
		}
	}
	return 0, false
}
