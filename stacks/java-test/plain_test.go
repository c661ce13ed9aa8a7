package javatest

import (
	"os/exec"
	"path/filepath"
	"testing"

	"edgegauge.example/edgegauge/internal/stack/stacktest"
)

// JSON of the same message is made of its numbers for each request: BigDecimal
// keeps what toString made, and a client that writes that again converts nothing.
func TestDecimalsAreConvertedAgain(t *testing.T) {
	for name, writer := range map[string]string{"cxf": "StrictJson", "cxf4": "StrictJson", "jersey3": "StrictJson",
		"jersey": "JsonFormat"} {
		t.Run(name, func(t *testing.T) {
			d, classes := stacktest.Built(t, filepath.Join("..", name)), t.TempDir()
			source, err := filepath.Abs(filepath.Join("plain", "Plain.java"))
			if err != nil {
				t.Fatal(err)
			}
			for _, argv := range [][]string{
				{"javac", "-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC", "-d", classes, "-cp",
					"build/app.jar:build/lib/*", source},
				{"java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "--add-opens", "java.base/java.math=ALL-UNNAMED", "-cp",
					classes + ":build/app.jar:build/lib/*", "Plain", writer},
			} {
				cmd := exec.Command(argv[0], argv[1:]...)
				cmd.Dir = d.Dir
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("%v: %s", err, out)
				}
				const want = `{"x":[-0.05,1234.50,0.00]} new new new` + "\ntrue new\n"
				if got := string(out); argv[0] == "java" && got != want {
					t.Errorf("it says %q, want %q", got, want)
				}
			}
		})
	}
}
