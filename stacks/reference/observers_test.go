package reference

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/drive"
	"edgegauge.example/edgegauge/internal/drive/population"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/stack/stacktest"
)

// Forty observers of the reference server, of Californium and of libcoap hear what these send:
// tshark, which knows neither side, counts the notifications on the wire.
func TestObserversOfThreeServers(t *testing.T) {
	if testing.Short() {
		t.Skip("needs stacks in other languages, and three seconds of notifications from each")
	}
	for _, program := range []string{"tshark", "dumpcap", "coap-server-notls"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(program + " is missing; run: apt-get install tshark libcoap3-bin")
		}
	}
	t.Setenv("REFERENCE_TEST_PROGRAM", "1")
	californium := stacktest.Built(t, "../californium")
	serve := stack.Serve{Service: "monitor", Encoding: "protobuf", Security: "none", Transport: "coap", Host: "127.0.0.1",
		Message: stack.Message{Seed: 5, N: 16}, Limits: stack.Limits{Body: 1 << 20},
		Options: map[string]string{"observe": "on"}}
	for _, tt := range []struct {
		name  string
		start func(t *testing.T) (url string)
	}{
		{"reference", func(t *testing.T) string {
			return served(t, stacktest.Start(t, "", "/proc/self/exe", Prefix+"coap-protobuf", "serve"), serve)
		}},
		{"californium", func(t *testing.T) string {
			return served(t, stacktest.Start(t, californium.Dir, argv(t, californium.Serve)...), serve)
		}},
		{"libcoap", libcoapServer},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			at := tt.start(t)
			spec := population.Spec{Devices: 40, Phase: population.Aligned, Seed: 1, Classes: []population.Class{
				{Name: "sensor", Share: 0.05, Period: time.Second}, {Name: "lamp", Share: 0.95, Observe: time.Minute}}}
			call := stack.Call{URL: at, Service: "monitor", Encoding: "protobuf", Security: "none", Transport: "coap",
				Connection: "keep-alive", Message: serve.Message, Timeout: int64(10 * time.Second), Limits: serve.Limits}
			name := Prefix + "coap-protobuf"
			if tt.name == "libcoap" { // what it has to tell is the time, once a second
				spec.Classes = []population.Class{{Share: 1, Observe: time.Minute}}
				name = requester
				call.Request, _ = json.Marshal(drive.Job{Spec: drive.Spec{URL: at, Timeout: 10 * time.Second}})
			}
			call.Population, _ = json.Marshal(spec)
			stop := captured(t, ctx, at)
			client := stacktest.Start(t, "", "/proc/self/exe", name, "call")
			client.Devices = func(json.RawMessage) {}
			if _, err := client.Call(ctx, call); err != nil {
				t.Fatal(err)
			}
			end, err := client.Run(ctx, stack.Run{Duration: int64(3200 * time.Millisecond), Record: true},
				func(measure.Exchange) {})
			if err != nil {
				t.Fatal(err)
			}
			var r population.Account
			if err := json.Unmarshal([]byte(end.Population), &r); err != nil {
				t.Fatal(err)
			}
			registered, notified, after := stop()
			// What was under way when the run ended may not have been read.
			if int(r.Observers) != registered || r.RegistrationsFailed+r.Unobserved > 0 ||
				r.Notifications+r.Stale > int64(notified) || r.Notifications+r.Stale+r.Dropped+int64(after) < int64(notified) ||
				r.Notifications < 3*r.Observers/2 {
				t.Errorf("tshark saw %d registered and %d notifications, %d of them in the last second; got %+v, %d observers",
					registered, notified, after, r.Counts, r.Observers)
			}
		})
	}
}

func served(t *testing.T, c *stack.Conn, s stack.Serve) string {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ready, err := c.Serve(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	return ready.URL
}

// libcoapServer starts libcoap's own example, of which /time can be observed.
func libcoapServer(t *testing.T) string {
	l, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.LocalAddr().(*net.UDPAddr).Port
	l.Close()
	cmd := exec.Command("coap-server-notls", "-A", "127.0.0.1", "-p", fmt.Sprint(port))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	time.Sleep(300 * time.Millisecond)
	return fmt.Sprintf("coap://127.0.0.1:%d/time", port)
}

// captured captures what a server sends; stop says how many registrations it answered, how many
// notifications it sent, and how many of these in the last second.
func captured(t *testing.T, ctx context.Context, at string) (stop func() (registered, notified, after int)) {
	u, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "capture.pcapng")
	cmd := exec.CommandContext(ctx, "dumpcap", "-i", "lo", "-f", "udp src port "+u.Port(), "-w", file)
	notes, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(notes)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "File:") {
	}
	go func() {
		for lines.Scan() {
		}
	}()
	return func() (registered, notified, after int) {
		time.Sleep(200 * time.Millisecond) // dumpcap reads what is there
		cmd.Process.Signal(os.Interrupt)
		cmd.Wait()
		out, err := exec.CommandContext(ctx, "tshark", "-n", "-r", file, "-d", "udp.port=="+u.Port()+",coap", "-Y",
			"coap.opt.name contains \"Observe\" && coap.code==69", "-T", "fields", "-e", "coap.type", "-e",
			"frame.time_relative").Output()
		if err != nil {
			t.Fatal("tshark: ", err)
		}
		var ats []float64
		for line := range strings.Lines(string(out)) {
			var kind int
			var at float64
			if _, err := fmt.Sscan(line, &kind, &at); err != nil {
				t.Fatalf("tshark printed %q", line)
			}
			if kind == 2 {
				registered++
				continue
			}
			ats = append(ats, at)
		}
		for _, x := range ats {
			if x > ats[len(ats)-1]-1 {
				after++
			}
		}
		return registered, len(ats), after
	}
}

// Subscribers of the embedded broker and of Mosquitto hear of each report once: as many notifications as there
// were reports, times the subscribers.
func TestSubscribersOfTwoBrokers(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds for each broker")
	}
	t.Setenv("REFERENCE_TEST_PROGRAM", "1")
	for _, tt := range []struct{ stack, transport string }{{"mqtt", "mqtt5"}, {"mqtt", mqtt311},
		{"mqtt-mosquitto", "mqtt5"}} {
		if _, err := exec.LookPath("mosquitto"); err != nil && tt.stack != "mqtt" && os.Getenv("CI") != "true" {
			t.Log("mosquitto is missing; run: apt-get install mosquitto")
			continue
		}
		t.Run(tt.stack+" "+tt.transport, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			at := served(t, stacktest.Start(t, "", "/proc/self/exe", Prefix+tt.stack, "serve"), stack.Serve{Service: "monitor",
				Encoding: "protobuf", Security: "none", Transport: tt.transport, Host: "127.0.0.1",
				Message: stack.Message{Seed: 5, N: 16}, Limits: stack.Limits{Body: 1 << 20}})
			call := stack.Call{URL: at, Service: "monitor", Encoding: "protobuf", Security: "none", Transport: tt.transport,
				Connection: "keep-alive", Message: stack.Message{Seed: 5, N: 16}, Timeout: int64(20 * time.Second),
				Limits: stack.Limits{Body: 1 << 20}}
			call.Population, _ = json.Marshal(population.Spec{Devices: 40, Phase: population.Aligned, Seed: 1,
				Classes: []population.Class{{Name: "sensor", Share: 0.05, Period: time.Second},
					{Name: "lamp", Share: 0.95, Observe: time.Minute}}})
			client := stacktest.Start(t, "", "/proc/self/exe", Prefix+tt.stack, "call")
			client.Devices = func(json.RawMessage) {}
			if _, err := client.Call(ctx, call); err != nil {
				t.Fatal(err)
			}
			run := func(record bool) (r population.Account) {
				end, err := client.Run(ctx, stack.Run{Duration: int64(3200 * time.Millisecond), Record: record},
					func(measure.Exchange) {})
				if err == nil && record {
					err = json.Unmarshal([]byte(end.Population), &r)
				}
				if err != nil {
					t.Fatal(err)
				}
				return r
			}
			run(false) // all subscribe
			r := run(true)
			if r.Observers != 38 || r.Requests != 8 || r.Answered != 8 || r.Notifications != 8*38 || r.Strays+r.Duplicates > 0 {
				t.Errorf("got %+v, %d subscribers", r.Counts, r.Observers)
			}
		})
	}
}
