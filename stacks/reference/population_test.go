package reference

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/drive"
	"edgegauge.example/edgegauge/internal/drive/population"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/stack/stacktest"
)

// Devices ask a service that is already running in several processes as in one, and take only the status that the
// request names for right.
func TestDevicesAskAServiceInSeveralProcesses(t *testing.T) {
	t.Setenv("REFERENCE_TEST_PROGRAM", "1")
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1)%2 == 0 {
			w.WriteHeader(http.StatusCreated)
		}
		w.Write([]byte(r.Header.Get("Authorization")))
	}))
	defer server.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, processes := range []int{1, 2} {
		asked.Store(0)
		call := stack.Call{URL: server.URL, Transport: "http", Timeout: int64(10 * time.Second)}
		call.Request, _ = json.Marshal(drive.Job{Spec: drive.Spec{URL: server.URL, Timeout: 10 * time.Second,
			Header: []string{"Authorization: secret"}}, Status: http.StatusCreated})
		call.Population, _ = json.Marshal(population.Spec{Devices: 4, Phase: population.Aligned, Seed: 1, Shards: processes,
			Classes: []population.Class{{Share: 1, Period: time.Minute}}})
		client := stacktest.Start(t, "", "/proc/self/exe", requester, "call")
		client.Devices = func(json.RawMessage) {}
		if _, err := client.Call(ctx, call); err != nil {
			t.Fatalf("%d processes: %v", processes, err)
		}
		end, err := client.Run(ctx, stack.Run{Requests: 4, Record: true}, func(x measure.Exchange) {
			if x.Failure != "" && x.Failure != "status 200, not 201" {
				t.Errorf("request %d: %q", x.Seq, x.Failure)
			}
		})
		var r population.Account
		if err == nil {
			err = json.Unmarshal([]byte(end.Population), &r)
		}
		if err != nil || r.Requests != 4 || r.Answered != 2 || r.Wrong != 2 || max(r.Shards, 1) != processes {
			t.Errorf("%d processes: %+v, %v; want 2 of 4 answers right", processes, r.Counts, err)
		}
	}
}
