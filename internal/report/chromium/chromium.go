// Package chromium drives a browser without a window, as tests and benches of pages need it.
package chromium

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

// A Browser is a headless Chromium spoken to over two pipes: one JSON message
// each way, ended by a NUL (Chrome DevTools Protocol, --remote-debugging-pipe).
type Browser struct {
	cmd     *exec.Cmd
	to      io.WriteCloser
	session string
	log     bytes.Buffer // after Close
	ended   chan struct{}

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

// Slow is how long a busy machine may take for a step.
const Slow = 60 * time.Second

// Find is where Chromium is.
func Find() (string, error) { return exec.LookPath("chromium") }

// Start starts one with a page, whose profile is kept in a folder that is the browser's alone.
func Start(profile string) (*Browser, error) {
	path, err := Find()
	if err != nil {
		return nil, err
	}
	fromUs, toThem, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer fromUs.Close()
	fromThem, toUs, err := os.Pipe()
	if err != nil {
		toThem.Close()
		return nil, err
	}
	defer toUs.Close()
	args := []string{"--headless", "--remote-debugging-pipe", "--user-data-dir=" + profile, "--no-first-run",
		"--disable-gpu", "--disable-dev-shm-usage",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-default-browser-check",
		"--hide-scrollbars"}
	if os.Getuid() == 0 { // its sandbox refuses root
		args = append(args, "--no-sandbox")
	}
	b := &Browser{cmd: exec.Command(path, append(args, "about:blank")...), to: toThem, ended: make(chan struct{}),
		waiting: map[int]chan answer{}}
	b.cmd.ExtraFiles, b.cmd.Stderr = []*os.File{fromUs, toUs}, &b.log
	if err := b.cmd.Start(); err != nil {
		toThem.Close()
		fromThem.Close()
		return nil, err
	}
	go func() {
		b.listen(fromThem)
		fromThem.Close()
		close(b.ended)
	}()
	var target struct{ TargetID string }
	var attached struct{ SessionID string }
	err = b.Do(&target, "Target.createTarget", map[string]any{"url": "about:blank"})
	if err == nil {
		err = b.Do(&attached, "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true})
	}
	b.session = attached.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		if err == nil {
			err = b.Do(nil, domain+".enable", nil)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %.2000s", err, b.Close())
	}
	return b, nil
}

// Close ends it, and returns what it wrote to stderr.
func (b *Browser) Close() string {
	b.session = ""
	_, _ = b.Call("Browser.close", nil)
	b.to.Close()
	stop := time.AfterFunc(10*time.Second, func() { _ = b.cmd.Process.Kill() })
	<-b.ended
	_ = b.cmd.Wait() // killed or not, it has ended
	stop.Stop()
	return b.log.String()
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
	case <-time.After(Slow):
		return nil, fmt.Errorf("%s: no answer within %v", method, Slow)
	}
}

// Do is Call, whose answer is decoded into to unless that is nil.
func (b *Browser) Do(to any, method string, params any) error {
	text, err := b.Call(method, params)
	if err == nil && to != nil {
		err = json.Unmarshal(text, to)
	}
	return err
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

// Go loads an address and waits for its load event.
func (b *Browser) Go(url string) error {
	loads := len(b.Happened("Page.loadEventFired"))
	if err := b.Do(nil, "Page.navigate", map[string]any{"url": url}); err != nil {
		return err
	}
	for limit := time.Now().Add(Slow); len(b.Happened("Page.loadEventFired")) == loads; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(limit) {
			return fmt.Errorf("%s: not loaded within %v", url, Slow)
		}
	}
	return nil
}

// Value decodes the value of an expression into to, awaited if it is a promise; nil: it is not wanted.
func (b *Browser) Value(to any, expression string) error {
	var got struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails *struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	if err := b.Do(&got, "Runtime.evaluate", map[string]any{"expression": expression, "awaitPromise": true,
		"returnByValue": true}); err != nil {
		return err
	}
	if x := got.ExceptionDetails; x != nil {
		return fmt.Errorf("%.200s: %s %s", expression, x.Text, x.Exception.Description)
	}
	if to == nil {
		return nil
	}
	if err := json.Unmarshal(got.Result.Value, to); err != nil {
		return fmt.Errorf("%.200s: %w in %.500s", expression, err, got.Result.Value)
	}
	return nil
}

// Heap is what scripts of the page hold after a collection, in B.
func (b *Browser) Heap() (float64, error) {
	for range 3 {
		if err := b.Do(nil, "HeapProfiler.collectGarbage", nil); err != nil {
			return 0, err
		}
	}
	var u struct{ UsedSize float64 }
	err := b.Do(&u, "Runtime.getHeapUsage", nil)
	return u.UsedSize, err
}
