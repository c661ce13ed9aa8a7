// Package pagetest is what tests of pages share: a browser, as a reader has it. Only
// tests import it.
package pagetest

import (
	"context"
	_ "embed" // axe
	"encoding/base64"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/report/chromium"
)

// A Browser is one of a test.
type Browser struct{ *chromium.Browser }

// Need is where Chromium is. Where there is none the test is passed over, but
// never in CI. A test that prepares much calls it first.
func Need(t *testing.T) {
	t.Helper()
	if _, err := chromium.Find(); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("chromium is missing: .ci/setup installs it")
		}
		t.Skip("needs chromium: apt-get install chromium")
	}
}

// Start starts Chromium for one test, if there is one.
func Start(t *testing.T) *Browser {
	t.Helper()
	Need(t)
	b, err := chromium.Start(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if log := b.Close(); t.Failed() {
			t.Logf("chromium: %.2000s", log)
		}
	})
	return &Browser{b}
}

// Must is Do, whose error ends the test.
func (b *Browser) Must(t *testing.T, to any, method string, params any) {
	t.Helper()
	if err := b.Do(to, method, params); err != nil {
		t.Fatal(err)
	}
}

// Open loads an address and waits for its load event.
func (b *Browser) Open(t *testing.T, url string) {
	t.Helper()
	if err := b.Go(url); err != nil {
		t.Fatal(err)
	}
}

// Await waits until something is so, as long as a busy machine may take. What says
// what is waited for.
func (b *Browser) Await(t *testing.T, so func() bool, what string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), chromium.Slow)
	defer cancel()
	for !so() {
		select {
		case <-ctx.Done():
			t.Fatalf("%s: not within %v", what, chromium.Slow)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Eval returns the value of an expression, awaited if it is a promise.
func (b *Browser) Eval(t *testing.T, to any, expression string) {
	t.Helper()
	if err := b.Value(to, expression); err != nil {
		t.Fatal(err)
	}
}

// Text is the value of an expression as text.
func (b *Browser) Text(t *testing.T, expression string) string {
	t.Helper()
	var s string
	b.Eval(t, &s, "String("+expression+")")
	return s
}

// Size gives the page a width and height in CSS px.
func (b *Browser) Size(t *testing.T, width, height int) {
	t.Helper()
	b.Must(t, nil, "Emulation.setDeviceMetricsOverride",
		map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600})
}

// Move puts the pointer at a place of the window.
func (b *Browser) Move(t *testing.T, x, y float64) {
	t.Helper()
	b.Must(t, nil, "Input.dispatchMouseEvent", map[string]any{"type": "mouseMoved", "x": x, "y": y})
}

// Shoot keeps a picture of the page where EDGEGAUGE_SHOTS names a folder.
func (b *Browser) Shoot(t *testing.T, name string, whole bool) {
	t.Helper()
	if os.Getenv("EDGEGAUGE_SHOTS") != "" {
		b.kept(t, name+".png", "Page.captureScreenshot", map[string]any{"format": "png", "captureBeyondViewport": whole})
	}
}

// Print prints the page on A4 as a PDF, and keeps it there, too.
func (b *Browser) Print(t *testing.T, name string) []byte {
	t.Helper()
	return b.kept(t, name+".pdf", "Page.printToPDF", map[string]any{"paperWidth": 8.27, "paperHeight": 11.69})
}

func (b *Browser) kept(t *testing.T, name, method string, params any) []byte {
	t.Helper()
	var made struct{ Data string }
	b.Must(t, &made, method, params)
	data, err := base64.StdEncoding.DecodeString(made.Data)
	if dir := os.Getenv("EDGEGAUGE_SHOTS"); dir != "" && err == nil {
		err = os.WriteFile(dir+"/"+name, data, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Clean fails if the pages complained, or asked for what does not begin with one of
// the addresses.
func (b *Browser) Clean(t *testing.T, own ...string) {
	t.Helper()
	for _, kind := range []string{"Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled"} {
		for _, e := range b.Happened(kind) {
			t.Errorf("%s: %.600s", kind, e.Params)
		}
	}
	for _, e := range b.Happened("Network.requestWillBeSent") {
		var p struct{ Request struct{ URL string } }
		if json.Unmarshal(e.Params, &p) != nil || !slices.ContainsFunc(append(own, "data:", "about:blank"),
			func(begin string) bool { return strings.HasPrefix(p.Request.URL, begin) }) {
			t.Errorf("the page asked for %.200s", e.Params)
		}
	}
}

// axe-core 4.14.1, of Deque.
//
//go:embed axe.min.js
var axe string

// Accessible fails for each rule of axe-core that the open page breaks, and if it is
// wider than the window. What says which page and window it is.
func (b *Browser) Accessible(t *testing.T, what string, width int) {
	t.Helper()
	var wide int
	b.Eval(t, &wide, `document.documentElement.scrollWidth`)
	if wide > width {
		t.Errorf("%s: the page is %d px wide", what, wide)
	}
	b.Eval(t, nil, axe+";0")
	var found []struct {
		ID, Help string
		Nodes    []struct{ HTML, FailureSummary string }
	}
	b.Eval(t, &found, `axe.run(document, {resultTypes: ["violations"], `+
		`preload: location.protocol !== "file:"}).then((r) => r.violations)`)
	for _, v := range found {
		t.Errorf("%s: %s: %s, %d times: %.300s: %.300s", what, v.ID, v.Help, len(v.Nodes), v.Nodes[0].HTML,
			v.Nodes[0].FailureSummary)
	}
}

// Scheme shows pages in light or dark colours.
func (b *Browser) Scheme(t *testing.T, scheme string) {
	t.Helper()
	b.Must(t, nil, "Emulation.setEmulatedMedia", map[string]any{"media": "screen",
		"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}})
}
