package lab

import "edgegauge.example/edgegauge/internal/kernel"

// measures tells other labs that this one measures, until end is called: they disturb each other. One that cannot be
// told goes on: it measures no worse for that.
func (l *Lab) measures() (end func()) {
	f, err := kernel.LockShared(l.Together)
	if err != nil {
		return func() {}
	}
	l.told = f
	return func() {
		l.told = nil
		f.Close()
	}
}

// Beside are the processes of other labs that measure on this machine at the moment.
func (l *Lab) Beside() []int {
	if l.Together == "" || l.told != nil && !kernel.SharedByOthers(l.told) {
		return nil
	}
	return kernel.Sharers(l.Together)
}
