// Package pagetest is what tests of pages share: a browser, as a reader has it. Only
// tests import it.
package pagetest

import (
	"bufio"
	"bytes"
	"context"
	_ "embed" // axe
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// A Browser is a headless Chromium spoken to over two pipes: one JSON message
// each way, ended by a NUL (Chrome DevTools Protocol, --remote-debugging-pipe).
type Browser struct {
	to      io.Writer
	session string

	mu      sync.Mutex
	next    int
	waiting map[int]chan answer
	events  []Event
}

type answer struct {
	Result json.RawMessage
	Error  *struct{ Message string }
}

// An Event is one that the browser told.
type Event struct {
	Method string
	Params json.RawMessage
}

// slow is how long a busy machine may take for a step.
const slow = 60 * time.Second

// Need is where Chromium is. Where there is none the test is passed over, but
// never in CI. A test that prepares much calls it first.
func Need(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("chromium is missing: .ci/setup installs it")
		}
		t.Skip("needs chromium: apt-get install chromium")
	}
	return path
}

// Start starts Chromium for one test, if there is one.
func Start(t *testing.T) *Browser {
	t.Helper()
	path := Need(t)
	fromUs, toThem := pipe(t)
	fromThem, toUs := pipe(t)
	args := []string{"--headless", "--remote-debugging-pipe", "--user-data-dir=" + t.TempDir(), "--no-first-run",
		"--disable-gpu", "--disable-dev-shm-usage",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-default-browser-check",
		"--hide-scrollbars"}
	if os.Getuid() == 0 { // its sandbox refuses root
		args = append(args, "--no-sandbox")
	}
	cmd := exec.Command(path, append(args, "about:blank")...)
	cmd.ExtraFiles = []*os.File{fromUs, toUs}
	var log bytes.Buffer
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	fromUs.Close()
	toUs.Close()
	b := &Browser{to: toThem, waiting: map[int]chan answer{}}
	ended := make(chan struct{})
	go func() {
		b.listen(fromThem)
		close(ended)
	}()
	t.Cleanup(func() {
		b.session = ""
		_, _ = b.Call("Browser.close", nil)
		toThem.Close()
		stop := time.AfterFunc(10*time.Second, func() { cmd.Process.Kill() })
		<-ended
		cmd.Wait()
		stop.Stop()
		if t.Failed() {
			t.Logf("chromium: %.2000s", log.String())
		}
	})
	var target struct{ TargetID string }
	var attached struct{ SessionID string }
	b.Must(t, &target, "Target.createTarget", map[string]any{"url": "about:blank"})
	b.Must(t, &attached, "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true})
	b.session = attached.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		b.Must(t, nil, domain+".enable", nil)
	}
	return b
}

func pipe(t *testing.T) (r, w *os.File) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

func (b *Browser) listen(r io.Reader) {
	in := bufio.NewReaderSize(r, 1<<16)
	for {
		text, err := in.ReadBytes(0)
		if err != nil {
			break
		}
		var m struct {
			ID int
			answer
			Event
		}
		if json.Unmarshal(bytes.TrimRight(text, "\x00"), &m) != nil {
			continue
		}
		b.mu.Lock()
		if m.ID == 0 {
			b.events = append(b.events, m.Event)
		} else if to := b.waiting[m.ID]; to != nil {
			to <- m.answer
			delete(b.waiting, m.ID)
		}
		b.mu.Unlock()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, to := range b.waiting {
		close(to)
	}
	b.waiting = nil
}

// Call asks the browser something, and returns its answer.
func (b *Browser) Call(method string, params any) (json.RawMessage, error) {
	b.mu.Lock()
	if b.waiting == nil {
		b.mu.Unlock()
		return nil, errors.New("the browser has ended")
	}
	b.next++
	m := map[string]any{"id": b.next, "method": method}
	if params != nil {
		m["params"] = params
	}
	if b.session != "" {
		m["sessionId"] = b.session
	}
	back := make(chan answer, 1)
	b.waiting[b.next] = back
	text, _ := json.Marshal(m)
	_, err := b.to.Write(append(text, 0))
	b.mu.Unlock()
	if err != nil {
		return nil, err
	}
	select {
	case a, ok := <-back:
		if !ok {
			return nil, fmt.Errorf("%s: the browser has ended", method)
		}
		if a.Error != nil {
			return nil, fmt.Errorf("%s: %s", method, a.Error.Message)
		}
		return a.Result, nil
	case <-time.After(slow):
		return nil, fmt.Errorf("%s: no answer within %v", method, slow)
	}
}

// Must is Call, whose answer is decoded into to unless that is nil; its error ends the test.
func (b *Browser) Must(t *testing.T, to any, method string, params any) {
	t.Helper()
	text, err := b.Call(method, params)
	if err == nil && to != nil {
		err = json.Unmarshal(text, to)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Happened are the events of a kind so far.
func (b *Browser) Happened(method string) []Event {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []Event
	for _, e := range b.events {
		if e.Method == method {
			out = append(out, e)
		}
	}
	return out
}

// Forget forgets what happened so far.
func (b *Browser) Forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.events = nil
}

// Open loads an address and waits for its load event.
func (b *Browser) Open(t *testing.T, url string) {
	t.Helper()
	loads := len(b.Happened("Page.loadEventFired"))
	b.Must(t, nil, "Page.navigate", map[string]any{"url": url})
	b.Await(t, func() bool { return len(b.Happened("Page.loadEventFired")) > loads }, url)
}

// Await waits until something is so, as long as a busy machine may take. What says
// what is waited for.
func (b *Browser) Await(t *testing.T, so func() bool, what string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), slow)
	defer cancel()
	for !so() {
		select {
		case <-ctx.Done():
			t.Fatalf("%s: not within %v", what, slow)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Eval returns the value of an expression, awaited if it is a promise.
func (b *Browser) Eval(t *testing.T, to any, expression string) {
	t.Helper()
	var got struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails *struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	b.Must(t, &got, "Runtime.evaluate", map[string]any{"expression": expression, "awaitPromise": true,
		"returnByValue": true})
	if got.ExceptionDetails != nil {
		t.Fatalf("%.200s: %s %s", expression, got.ExceptionDetails.Text, got.ExceptionDetails.Exception.Description)
	}
	if to == nil {
		return
	}
	if err := json.Unmarshal(got.Result.Value, to); err != nil {
		t.Fatalf("%.200s: %v in %.500s", expression, err, got.Result.Value)
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
	dir := os.Getenv("EDGEGAUGE_SHOTS")
	if dir == "" {
		return
	}
	var shot struct{ Data string }
	b.Must(t, &shot, "Page.captureScreenshot", map[string]any{"format": "png", "captureBeyondViewport": whole})
	png, err := base64.StdEncoding.DecodeString(shot.Data)
	if err == nil {
		err = os.WriteFile(dir+"/"+name+".png", png, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
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
