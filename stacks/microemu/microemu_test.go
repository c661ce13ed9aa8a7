// Package microemu_test times programs of known length on the throttled phone.
package microemu_test

import (
	"bufio"
	"bytes"
	"fmt"
	"math"
	"os/exec"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/stack/stacktest"
)

// What a throttle predicts is what its programs take: within 1 %, at the quickest of some runs, since a busy machine
// can only add.
func TestKnownProgramsTakeAsLongAsPredicted(t *testing.T) {
	stacktest.Built(t, ".")
	const rate = 2048 // bytecodes per ms
	nearest := map[string]float64{}
	for range 4 {
		out, err := exec.CommandContext(t.Context(), "java", "-Xmx128m", "-cp", "build/app.jar:build/lib/*", "Main", "known",
			fmt.Sprint(rate)).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		lines := bufio.NewScanner(bytes.NewReader(out))
		for lines.Scan() {
			var name string
			var n int64
			var predicted, took float64
			if _, err := fmt.Sscan(lines.Text(), &name, &n, &predicted, &took); err != nil {
				t.Fatalf("%s: %v", lines.Text(), err)
			}
			// By javap -c: 11 bytecodes a turn and 10 around them; calling it is a few more.
			if name == "arithmetic" && (n < 20000*11+10 || n > 20000*11+20) {
				t.Errorf("arithmetic has %d bytecodes", n)
			}
			if math.Abs(predicted-float64(n)/rate) > 0.001 || took < predicted*0.9999 {
				t.Errorf("%s: %d bytecodes, predicted %g ms, took %g ms", name, n, predicted, took)
			}
			if best, ok := nearest[name]; !ok || took/predicted < best {
				nearest[name] = took / predicted
			}
		}
	}
	for name, ratio := range nearest {
		if ratio > 1.01 {
			t.Errorf("%s took %.3f times what was predicted", name, ratio)
		}
	}
	if len(nearest) != 3 {
		t.Errorf("got %s, want three programs", strings.Join(keys(nearest), ", "))
	}
}

func keys(m map[string]float64) []string {
	var names []string
	for n := range m {
		names = append(names, n)
	}
	return names
}
