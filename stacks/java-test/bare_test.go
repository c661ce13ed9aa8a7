package javatest

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/stack/stacktest"
)

const (
	envelope = `<e:Envelope xmlns:e="http://schemas.xmlsoap.org/soap/envelope/"><e:Body><b:echo xmlns:b="urn:bare">four words of text</b:echo></e:Body></e:Envelope>`
	soap     = "text/xml"
)

// The programs that `edgegauge bench java` sets beside the adapters' start serve
// what they say, when they say it.
func TestBareProgramsServe(t *testing.T) {
	for _, b := range []struct{ stack, media, body, action string }{
		{"axis2", soap, envelope, `"urn:bare/echo"`},
		{"axis2-18", soap, envelope, `"urn:bare/echo"`},
		{"cxf", "application/xml", "<echo><text>four words of text</text></echo>", ""},
		{"cxf4", "application/xml", "<echo><text>four words of text</text></echo>", ""},
		{"cxf-jaxws", soap, envelope, ""},
		{"jersey", "text/plain", "four words of text", ""},
		{"jersey3", "text/plain", "four words of text", ""},
		{"jaxws-rt", soap, envelope, ""},
		{"restlet", "text/plain", "four words of text", ""},
		{"glassfish7", soap, envelope, ""},
		{"glassfish3", soap, envelope, ""},
	} {
		t.Run(b.stack, func(t *testing.T) {
			cpu := ownCPU(t)
			d := stacktest.Built(t, filepath.Join("..", b.stack))
			classes := t.TempDir()
			if out, err := exec.Command("taskset", "-c", strconv.Itoa(cpu), filepath.Join("bare", "build.sh"), b.stack,
				classes).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			java := "java"
			if b.stack == "glassfish3" {
				java = filepath.Join(os.Getenv("JAVA8_HOME"), "bin", "java")
			}
			jaxb := "-Djakarta.xml.bind.JAXBContextFactory=org.glassfish.jaxb.runtime.v2.JAXBContextFactory"
			cmd := exec.Command("taskset", "-c", strconv.Itoa(cpu), java, "-Xmx128m", jaxb, "-cp", classes+":build/lib/*",
				"Bare", t.TempDir())
			cmd.Dir, cmd.Stderr, cmd.WaitDelay = d.Dir, os.Stderr, time.Minute
			cmd.Env = append(os.Environ(), stacktest.Quickly) // what it serves is judged, no time
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			deadline := time.AfterFunc(3*time.Minute, func() { _ = cmd.Process.Kill() })
			t.Cleanup(func() {
				in.Close()
				if err := cmd.Wait(); err != nil {
					t.Errorf("after the end of its stdin: %v", err)
				}
				deadline.Stop()
			})
			url, err := bufio.NewReader(out).ReadString('\n')
			if err != nil {
				t.Fatalf("it said %q: %v", url, err)
			}
			client := http.Client{Timeout: time.Minute}
			defer client.CloseIdleConnections()
			request, err := http.NewRequest(http.MethodPost, strings.TrimSpace(url), strings.NewReader(b.body))
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Content-Type", b.media)
			if b.action != "" {
				request.Header.Set("SOAPAction", b.action)
			}
			r, err := client.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Body.Close()
			if body, err := io.ReadAll(r.Body); err != nil || r.StatusCode != 200 ||
				!strings.Contains(string(body), "four words of text") {
				t.Errorf("got %s %q %v", r.Status, body, err)
			}
		})
	}
}
