package testbed

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/drive"
)

// What a driver would refuse is refused when the study is read, and nothing more.
func TestAStudyIsHeldToTheDriversLimits(t *testing.T) {
	refusedByStudy := func(setting string) bool {
		text := "study: s\nservice: monitor\nstack: rest-json\nrequests: 100000\n" + setting + "\nresponses: [rtt]\n" +
			"design: {replications: 2, seed: 1}\n"
		_, err := bed(t, t.TempDir()).Read(t.Context(), "s.yaml", []byte(text))
		if err != nil && !strings.Contains(err.Error(), "write ") {
			t.Fatal(err)
		}
		return err != nil
	}
	refusedByDrive := func(job drive.Job, word string) bool {
		job.URL, job.Requests = "http://127.0.0.1:1/", 1
		stdin, order := io.Pipe() // stays open: a driver ends the process when it closes
		go func() { _ = drive.Order(order, job) }()
		var out bytes.Buffer
		var said struct{ Error string }
		_ = drive.Main(stdin, &out)
		if err := json.Unmarshal(out.Bytes(), &said); err != nil {
			t.Fatal(err)
		}
		return strings.Contains(said.Error, word)
	}
	for _, n := range []int{1, drive.MostConnections, drive.MostConnections + 1} {
		job := drive.Job{Spec: drive.Spec{Concurrency: n}}
		if s, d := refusedByStudy(fmt.Sprint("concurrency: ", n)), refusedByDrive(job, "concurrency "); s != d {
			t.Errorf("concurrency %d: refused by a study %v, by a driver %v", n, s, d)
		}
	}
	for _, rate := range []int{1000, drive.MostRate, drive.MostRate + 1} {
		job := drive.Job{Arrivals: drive.Even, Rate: float64(rate)}
		if s, d := refusedByStudy(fmt.Sprint("rate: ", rate)), refusedByDrive(job, "rate "); s != d {
			t.Errorf("rate %d: refused by a study %v, by a driver %v", rate, s, d)
		}
	}
}
