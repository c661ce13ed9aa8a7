package lab

import (
	"fmt"
	"os"
	"sync"
	"time"

	"edgegauge.example/edgegauge/internal/store"
)

// What a program may write to its log: beyond mostLog the file is cut to its
// first keptLog bytes, while the program runs, and says so.
const (
	mostLog = 16 << 20
	keptLog = 1 << 20
)

// A logWatch keeps the logs of a trial's programs from filling the disk. A stack
// that logs much is measured as it is: its trial stays valid.
type logWatch struct {
	paths [2]string
	cut   [2]int64 // B that were cut off
	end   chan struct{}
	ended chan struct{}
	once  sync.Once
	err   error
}

func watchLogs(a *store.Attempt) *logWatch {
	w := &logWatch{end: make(chan struct{}), ended: make(chan struct{})}
	w.paths[atClient], _ = logNames(a, "call.log")
	w.paths[atServer], _ = logNames(a, "serve.log")
	go func() {
		defer close(w.ended)
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-w.end:
				return
			case <-tick.C:
				w.look()
			}
		}
	}()
	return w
}

// look cuts what has grown too long. The programs append (device.Command.Log), so
// they go on behind the cut.
func (w *logWatch) look() {
	for i, path := range w.paths {
		fi, err := os.Stat(path)
		if err != nil || fi.Size() <= mostLog {
			continue
		}
		if err := os.Truncate(path, keptLog); err != nil {
			w.err = labFault(err)
			continue
		}
		w.cut[i] += fi.Size() - keptLog
	}
}

// stop ends the watch, once both programs have ended, and says what was cut off
// in the file itself and in the quality record.
func (w *logWatch) stop() (f findings, err error) {
	w.once.Do(func() {
		close(w.end)
		<-w.ended
		w.look()
		for i, path := range w.paths {
			if w.cut[i] == 0 {
				continue
			}
			f.note("log_cut_"+string(sides[i]), "B", float64(w.cut[i]))
			if log, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0); err == nil {
				fmt.Fprintf(log, "\nedgegauge: truncated: this log grew beyond %d B; %d B were discarded\n", mostLog, w.cut[i])
				log.Close()
			}
		}
	})
	return f, w.err
}
