package testbed

import (
	"io/fs"

	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/lab"
	"edgegauge.example/edgegauge/internal/link"
	"edgegauge.example/edgegauge/links"
)

// LinkProfiles are those of the program and of the folders of links, the later
// hiding the earlier. Broken ones are in the error.
func (b *Testbed) LinkProfiles() (map[string]link.Profile, error) {
	folders := []fs.FS{links.Files}
	for _, dir := range b.Options.Links {
		folders = append(folders, kernel.DirFS(dir, 1<<20))
	}
	return link.Load(folders...)
}

// openLinks finds the links of a plan by the text a study has for them.
func (x *assembly) openLinks() {
	all, _ := x.bed.LinkProfiles()
	byName := map[string]link.Link{}
	for n, p := range all {
		byName[n] = p.Link
	}
	x.profiles = byName
	x.lab.Links = map[string]link.Link{}
	for t := range x.treatments() {
		l, ok := lab.LinkOf(t.Setup, byName)
		text := t.Setup.Link.Text
		if _, seen := x.lab.Links[text]; seen || !ok {
			continue
		}
		if t.Setup.Population.Devices > 0 && (l.Shaper != link.Userspace || l.Up.Burst > 0 || l.Down.Burst > 0) {
			x.fault(t, "devices have a link each, which the driver emulates: without netem and without bursts of losses",
				"name another link", "link")
		}
		if err := l.Check(); err != nil {
			x.fault(t, err.Error(), "", "link")
			l = link.Link{Name: l.Name} // what follows from the fault is not said beside it
		}
		x.lab.Links[text] = l
	}
}
