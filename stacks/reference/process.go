package reference

import (
	"context"
	"fmt"
	"os"
	"os/exec"

	"edgegauge.example/edgegauge/internal/stack"
)

// A process is this program once more: a part of many devices (shards.go), or of a server (parts.go).
type process struct {
	cmd  *exec.Cmd
	conn *stack.Conn
}

// startProcess starts this program once more, with another verb. It is killed when ctx ends.
func (p *program) startProcess(ctx context.Context, verb string, env ...string) (process, error) {
	exe, err := os.Executable()
	if err != nil {
		return process{}, err
	}
	x := process{cmd: exec.CommandContext(ctx, exe, stack.ProgramVerb, p.name, verb)}
	x.cmd.Stderr, x.cmd.Env = p.log.Writer(), append(os.Environ(), env...)
	in, err := x.cmd.StdinPipe()
	if err != nil {
		return process{}, err
	}
	out, err := x.cmd.StdoutPipe()
	if err != nil {
		return process{}, err
	}
	r, ok := out.(stack.DeadlineReader)
	if !ok {
		return process{}, fmt.Errorf("a pipe of type %T has no deadline", out)
	}
	x.conn = stack.NewConn(in, r)
	return x, x.cmd.Start()
}
