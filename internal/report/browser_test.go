package report

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// A browser is a headless Chromium spoken to over two pipes: one JSON message
// each way, ended by a NUL (Chrome DevTools Protocol, --remote-debugging-pipe).
type browser struct {
	to      io.Writer
	session string

	mu      sync.Mutex
	next    int
	waiting map[int]chan answer
	events  []event
}

type answer struct {
	Result json.RawMessage
	Error  *struct{ Message string }
}

type event struct {
	Method string
	Params json.RawMessage
}

// slow is how long a busy machine may take for a step.
const slow = 60 * time.Second

// startBrowser starts Chromium for one test. Where there is none the test is
// passed over, but never in CI.
func startBrowser(t *testing.T) *browser {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("chromium is missing: .ci/setup installs it")
		}
		t.Skip("needs chromium: apt-get install chromium")
	}
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
	b := &browser{to: toThem, waiting: map[int]chan answer{}}
	ended := make(chan struct{})
	go func() {
		b.listen(fromThem)
		close(ended)
	}()
	t.Cleanup(func() {
		b.session = ""
		_, _ = b.call("Browser.close", nil)
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
	b.must(t, &target, "Target.createTarget", map[string]any{"url": "about:blank"})
	b.must(t, &attached, "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true})
	b.session = attached.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		b.must(t, nil, domain+".enable", nil)
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

func (b *browser) listen(r io.Reader) {
	in := bufio.NewReaderSize(r, 1<<16)
	for {
		text, err := in.ReadBytes(0)
		if err != nil {
			break
		}
		var m struct {
			ID int
			answer
			event
		}
		if json.Unmarshal(bytes.TrimRight(text, "\x00"), &m) != nil {
			continue
		}
		b.mu.Lock()
		if m.ID == 0 {
			b.events = append(b.events, m.event)
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

func (b *browser) call(method string, params any) (json.RawMessage, error) {
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

func (b *browser) must(t *testing.T, to any, method string, params any) {
	t.Helper()
	text, err := b.call(method, params)
	if err == nil && to != nil {
		err = json.Unmarshal(text, to)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// happened are the events of a kind so far.
func (b *browser) happened(method string) []event {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []event
	for _, e := range b.events {
		if e.Method == method {
			out = append(out, e)
		}
	}
	return out
}

// open loads a file and waits for its load event.
func (b *browser) open(t *testing.T, path string) {
	t.Helper()
	loads := len(b.happened("Page.loadEventFired"))
	b.must(t, nil, "Page.navigate", map[string]any{"url": "file://" + path})
	ctx, cancel := context.WithTimeout(t.Context(), slow)
	defer cancel()
	for len(b.happened("Page.loadEventFired")) == loads {
		select {
		case <-ctx.Done():
			t.Fatalf("%s did not load within %v", path, slow)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// eval returns the value of an expression, awaited if it is a promise.
func (b *browser) eval(t *testing.T, to any, expression string) {
	t.Helper()
	var got struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails *struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	b.must(t, &got, "Runtime.evaluate", map[string]any{"expression": expression, "awaitPromise": true,
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

func (b *browser) text(t *testing.T, expression string) string {
	t.Helper()
	var s string
	b.eval(t, &s, "String("+expression+")")
	return s
}

// size gives the page a width and height in CSS px.
func (b *browser) size(t *testing.T, width, height int) {
	t.Helper()
	b.must(t, nil, "Emulation.setDeviceMetricsOverride",
		map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600})
}

// move puts the pointer at a place of the window.
func (b *browser) move(t *testing.T, x, y float64) {
	t.Helper()
	b.must(t, nil, "Input.dispatchMouseEvent", map[string]any{"type": "mouseMoved", "x": x, "y": y})
}

// shoot keeps a picture of the page where EDGEGAUGE_SHOTS names a folder.
func (b *browser) shoot(t *testing.T, name string, whole bool) {
	dir := os.Getenv("EDGEGAUGE_SHOTS")
	if dir == "" {
		return
	}
	var shot struct{ Data string }
	b.must(t, &shot, "Page.captureScreenshot", map[string]any{"format": "png", "captureBeyondViewport": whole})
	png, err := base64.StdEncoding.DecodeString(shot.Data)
	if err == nil {
		err = os.WriteFile(dir+"/"+name+".png", png, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// clean fails if the page complained, or asked for anything but itself.
func (b *browser) clean(t *testing.T) {
	t.Helper()
	for _, e := range b.happened("Runtime.exceptionThrown") {
		t.Errorf("exception: %.600s", e.Params)
	}
	for _, e := range b.happened("Log.entryAdded") {
		t.Errorf("log: %.600s", e.Params)
	}
	for _, e := range b.happened("Runtime.consoleAPICalled") {
		t.Errorf("console: %.600s", e.Params)
	}
	for _, e := range b.happened("Network.requestWillBeSent") {
		var p struct{ Request struct{ URL string } }
		if json.Unmarshal(e.Params, &p) != nil || !strings.HasPrefix(p.Request.URL, "file://") &&
			!strings.HasPrefix(p.Request.URL, "data:") && p.Request.URL != "about:blank" {
			t.Errorf("the page asked for %.200s", e.Params)
		}
	}
}
