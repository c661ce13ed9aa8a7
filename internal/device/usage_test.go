package device

import (
	"bufio"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Children of children count, of whatever session; zombies have nothing to add.
func TestFamily(t *testing.T) {
	p := start(t, "sh -c 'setsid sleep 1000 & echo $!; wait' & wait")
	defer p.Kill()
	line, _ := bufio.NewReader(p.Stdout).ReadString('\n')
	grandchild, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	got, all := family(p.PID), descendants(p.PID)
	slices.Sort(got)
	slices.Sort(all)
	if !slices.Contains(got, grandchild) || !slices.Equal(got, all) {
		t.Errorf("got %v, want %v, with %d", got, all, grandchild)
	}
	if _, ok := childrenOf(p.PID); !ok {
		t.Log("this kernel lists no children: all processes are looked through")
	}
	if got := family(1 << 30); len(got) != 0 {
		t.Errorf("nobody has the family %v", got)
	}
}

func BenchmarkUsage(b *testing.B) {
	for b.Loop() {
		if _, err := usage(os.Getpid()); err != nil {
			b.Fatal(err)
		}
	}
}
