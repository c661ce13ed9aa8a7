package conform

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"edgegauge.example/edgegauge/internal/service/codec"
)

// A server that reads what there is and answers is found by every cut; one that
// looks at the end and the length is not.
func TestCutsFindCarelessServers(t *testing.T) {
	careless := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.ReadAll(r.Body) }))
	defer careless.Close()
	careful := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyLimit)); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
		}
	}))
	defer careful.Close()
	for _, x := range truncatedBodies([]byte(`{"text":"a message of some length"}`)) {
		if err := x.send(careless.URL+"/echo", codec.JSON, "echo"); err == nil {
			t.Errorf("%s: a careless server passed", x.what)
		}
		if err := x.send(careful.URL+"/echo", codec.JSON, "echo"); err != nil {
			t.Errorf("%s: a careful server failed: %v", x.what, err)
		}
	}
}
