package kernel

import (
	"os"
	"os/signal"
	"syscall"
)

// Ends are the signals that ask this process to end. Subtle: SIGHUP is none of them where whoever started it had it
// ignored, as nohup(1) does. Who catches it takes that back, and ends with the terminal all the same.
func Ends() []os.Signal {
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		ends = append(ends, syscall.SIGHUP)
	}
	return ends
}
