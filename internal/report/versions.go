package report

import (
	"fmt"
	"slices"
	"strings"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/study"
)

// Versions are the series of two versions that were measured in one study, the base
// first, by the names of their new stacks; no base: there is one version of each.
// Stacks without a base version are among the new.
func (r *Report) Versions() (base, new []advise.Series) {
	for _, s := range r.Series() {
		levels, isBase := versioned(s.Levels)
		s.Interleaved = true
		if s.Levels = levels; isBase {
			base = append(base, s)
		} else {
			new = append(new, s)
		}
	}
	return base, new
}

// VersionAttempts are the treatments of both versions with their trials, as Versions.
func (r *Report) VersionAttempts() (base, new []advise.Attempts) {
	for _, a := range r.Attempts() {
		levels, isBase := versioned(a.Levels)
		if isBase {
			a.Name = Treatment{Levels: levels}.Name()
		}
		if a.Levels = levels; isBase {
			base = append(base, a)
		} else {
			new = append(new, a)
		}
	}
	return base, new
}

// BaseVersion says what the base is; empty: the facts do not.
func (r *Report) BaseVersion() string {
	for _, name := range sortedKeys(r.Facts.Stacks) {
		if _, ok := study.IsBase(name); ok {
			return r.Facts.Stacks[name].Version
		}
	}
	return ""
}

// VersionsAgain is the command that measures both versions of these results again, or goes on with them; they lie in
// dir. Results may be a stranger's: a base that is no number of a commit could be a program of his.
func (r *Report) VersionsAgain(dir string) string {
	base := "VERSION"
	if _, number, ok := strings.Cut(r.BaseVersion(), " ("); ok && IsCommit(strings.TrimSuffix(number, ")")) {
		base = strings.TrimSuffix(number, ")")
	}
	return fmt.Sprintf("edgegauge compare --base %s --with %s --detect 5%%", base, r.StudyIn(dir))
}

// versioned are levels with the new stack's name in place of its base's.
func versioned(levels []string) (out []string, base bool) {
	out = slices.Clone(levels)
	for i, l := range out {
		if stack, ok := study.IsBase(l); ok {
			out[i], base = stack, true
		}
	}
	return out, base
}
