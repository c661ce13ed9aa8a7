package device

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"

	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/lazy"
)

// A QEMUVersion is what a program of QEMU says of itself.
type QEMUVersion struct {
	Line         string // as it prints it
	Major, Minor int
}

var qemuVersion = lazy.Regexp(`^(?:QEMU emulator|qemu-\S+) version (\d+)\.(\d+)`)

// AskQEMU asks a program of QEMU's, for whole systems or for user programs, for its version.
func AskQEMU(ctx context.Context, program string) (v QEMUVersion, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	out, err := kernel.Output(exec.CommandContext(ctx, program, "--version"))
	v.Line, _, _ = strings.Cut(string(out), "\n")
	if err != nil {
		return v, fmt.Errorf("%s --version: %w", program, err)
	}
	m := qemuVersion().FindStringSubmatch(v.Line)
	if m == nil {
		return v, fmt.Errorf("%s prints %q, which is not a version of QEMU; is it another program of that name?", program,
			v.Line)
	}
	v.Major, _ = strconv.Atoi(m[1])
	v.Minor, _ = strconv.Atoi(m[2])
	return v, nil
}

// AtLeast refuses a QEMU that is older than that.
func (v QEMUVersion) AtLeast(program string, oldest [2]int) error {
	if v.Major > oldest[0] || v.Major == oldest[0] && v.Minor >= oldest[1] {
		return nil
	}
	return fmt.Errorf("%s is QEMU %d.%d; edgegauge needs %d.%d or newer", program, v.Major, v.Minor, oldest[0], oldest[1])
}
