package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"edgegauge.example/edgegauge/internal/device"
	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/study"
)

// A fakeAttachment notes what becomes of it, and fails where it is told to.
type fakeAttachment struct {
	attachment        // what it stands for; nil: nothing
	name, fails       string
	log               *[]string
	closed, attempted int
}

func (f *fakeAttachment) before(ctx context.Context) error {
	f.attempted++
	*f.log = append(*f.log, "before "+f.name)
	if f.fails == "before" {
		return errFake
	}
	if f.attachment != nil {
		return f.attachment.before(ctx)
	}
	return nil
}

func (f *fakeAttachment) after(ctx context.Context) (findings, error) {
	*f.log = append(*f.log, "after "+f.name)
	var found findings
	found.note("saw_"+f.name, "1", 1)
	if f.fails == "after" {
		return found, errFake
	}
	if f.attachment == nil {
		return found, nil
	}
	more, err := f.attachment.after(ctx)
	found.add(more)
	return found, err
}

func (f *fakeAttachment) close() {
	f.closed++
	*f.log = append(*f.log, "close "+f.name)
	if f.attachment != nil {
		f.attachment.close()
	}
}

// attachedTrial is one attempt whose attachments note what becomes of them, all
// but the programs in the place of the real ones.
func attachedTrial(t *testing.T, l *Lab) (*trialRunner, map[string]*fakeAttachment, *[]string) {
	t.Helper()
	attempt, err := l.Store.Begin(1)
	if err != nil {
		t.Fatal(err)
	}
	one := newTrialRunner(l, l.Plan.Trials[0], attempt)
	fakes, log := map[string]*fakeAttachment{}, new([]string)
	for name, a := range map[string]*attachment{"devices": &one.attachments.devices, "link": &one.attachments.link,
		"sensor": &one.attachments.sensor, "programs": &one.attachments.programs, "joint": &one.attachments.joint,
		"capture": &one.attachments.capture, "meters": &one.attachments.meters} {
		f := &fakeAttachment{name: name, log: log}
		if name == "programs" || name == "devices" {
			f.attachment = *a
		}
		fakes[name], *a = f, f
	}
	return one, fakes, log
}

// alone conducts one trial.
func alone(t *testing.T, one *trialRunner, tell func(step string)) error {
	t.Helper()
	return conductAll(t.Context(), []*trialRunner{one}, func(_ study.Trial, step string) { tell(step) })[0]
}

// In the order they begin.
var attachmentNames = []string{"devices", "link", "sensor", "programs", "joint", "capture", "meters"}

func bubble(t *testing.T, name string, do func(t *testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, do) })
}

// Both programs begin at once: neither waits until the other has begun.
func TestBothProgramsBeginAtOnce(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		l, alive := fakeLab(t, soundStack(), 1)
		defer l.Store.Close()
		var begun sync.WaitGroup
		begun.Add(2)
		sound := l.launch
		l.launch = func(ctx context.Context, on device.Device, c device.Command) (process, *stack.Conn, error) {
			begun.Done()
			begun.Wait() // a bubble all of whose goroutines wait panics
			return sound(ctx, on, c)
		}
		o, err := l.Run(t.Context())
		alive.Wait()
		if err != nil || o.Valid != 1 {
			t.Errorf("got %+v, %v", o, err)
		}
	})
}

// A sound trial begins its attachments, reads them, and closes them backwards;
// what they found is kept.
func TestTrialReadsItsAttachments(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		l, _ := fakeLab(t, soundStack(), 1)
		defer l.Store.Close()
		one, _, log := attachedTrial(t, l)
		var told []string
		if err := alone(t, one, func(step string) { told = append(told, step) }); err != nil {
			t.Fatal(err)
		}
		want := []string{"before devices", "before link", "before sensor", "before programs", "before joint",
			"before capture", "before meters",
			"after meters", "after joint", "after programs", "after sensor", "after capture", "after link",
			"close meters", "close capture", "close joint", "close programs", "close sensor", "close link", "close devices"}
		if !slices.Equal(*log, want) {
			t.Errorf("got %q\nwant %q", *log, want)
		}
		if len(told) != len(one.steps()) {
			t.Errorf("told %q", told)
		}
		all, err := l.Store.Trials()
		if err != nil || all[0].State != store.Valid {
			t.Errorf("got %+v %v", all, err)
		}
		for _, name := range []string{"meters", "joint", "programs", "sensor", "capture", "link"} {
			if !slices.ContainsFunc(one.findings.quality, func(q store.Quality) bool { return q.Key == "saw_"+name }) {
				t.Errorf("what the %s found is not kept", name)
			}
		}
	})
}

// The files of records are finished before the processes of the programs are awaited, which take a while to go.
func TestRecordsAreKeptWhileProgramsGo(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		l, alive := fakeLab(t, soundStack(), 1)
		defer l.Store.Close()
		sound, awaited := l.launch, 0
		var one *trialRunner
		l.launch = func(ctx context.Context, on device.Device, c device.Command) (process, *stack.Conn, error) {
			p, conn, err := sound(ctx, on, c)
			return notedEnd{p, func() {
				awaited++
				for _, k := range one.records.recorders {
					if k.file != nil {
						t.Errorf("the %s's records were not kept when a program was awaited", sides[k.side])
					}
				}
			}}, conn, err
		}
		one, _, _ = attachedTrial(t, l)
		if err := alone(t, one, func(string) {}); err != nil {
			t.Error(err)
		}
		alive.Wait()
		if awaited != 2 || len(one.records.recorders) != 2 {
			t.Errorf("%d programs were awaited, %d sides recorded, want 2 of each", awaited, len(one.records.recorders))
		}
	})
}

// Every attachment that fails before or after ends the trial with its step's name;
// those that had begun, and no others, are closed once, the last first.
func TestEveryAttachmentFailing(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	steps := map[string][2]string{
		"devices": {"reach the devices", ""}, "link": {"shape the link", "read the link"},
		"sensor":   {"plug in the sensor", "unplug the sensor"},
		"programs": {"start the programs", "stop the programs"},
		"joint":    {"reach the other benches", "stop the other benches"},
		"capture":  {"capture packets", "read the packets"}, "meters": {"start the meters", "read the meters"},
	}
	if n := howManyAttachments(); n != len(attachmentNames) {
		t.Errorf("a trial has %d attachments, and %d are tried", n, len(attachmentNames))
	}
	for i, name := range attachmentNames {
		for when, fails := range []string{"before", "after"} {
			step := steps[name][when]
			if step == "" {
				continue // nothing is read of the devices
			}
			bubble(t, name+" "+fails, func(t *testing.T) {
				l, alive := fakeLab(t, soundStack(), 1)
				defer l.Store.Close()
				one, fakes, log := attachedTrial(t, l)
				fakes[name].fails = fails
				err := alone(t, one, func(string) {})
				if want := "trial 1: " + step + ": it broke"; err == nil || err.Error() != want {
					t.Errorf("got %v, want %q", err, want)
				}
				alive.Wait()
				begun := attachmentNames
				if fails == "before" {
					begun = attachmentNames[:i+1]
				}
				var closed []string
				for _, entry := range *log {
					if what, ok := strings.CutPrefix(entry, "close "); ok {
						closed = append(closed, what)
					}
				}
				slices.Reverse(closed)
				if !slices.Equal(closed, begun) {
					t.Errorf("closed (backwards) %q, begun %q", closed, begun)
				}
				if left := leftovers(t); len(left) > 0 {
					t.Errorf("left behind: %q", left)
				}
			})
		}
	}
}

// howManyAttachments a trial has.
func howManyAttachments() (n int) {
	all := reflect.TypeFor[attachments]()
	for i := range all.NumField() {
		if all.Field(i).Type == reflect.TypeFor[attachment]() {
			n++
		}
	}
	return n
}

// descriptors counts this process's open files.
func descriptors(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// A run that is stopped at any step says so, can be resumed, counts no attempt as
// invalid, and leaves no process, goroutine, file or descriptor behind.
func TestStoppedAtEveryStep(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	steps := (&trialRunner{task: task{lab: &Lab{}}}).steps()
	for i, at := range steps {
		bubble(t, at.name, func(t *testing.T) {
			l, alive := fakeLab(t, soundStack(), 1)
			before := descriptors(t)
			cause := errors.New("Ctrl-C")
			ctx, cancel := context.WithCancelCause(t.Context())
			l.Progress = func(p Progress) {
				if p.Step == at.name {
					cancel(cause)
				}
			}
			o, err := l.Run(ctx)
			alive.Wait()
			if !errors.Is(err, ErrStopped) || !errors.Is(err, cause) || o.Invalid != 0 || o.Valid != 0 {
				t.Errorf("stopped at step %d: got %+v %v", i, o, err)
			}
			if left := leftovers(t); len(left) > 0 {
				t.Errorf("left behind: %q", left)
			}
			if now := descriptors(t); now > before {
				t.Errorf("%d descriptors are open, %d were", now, before)
			}
			l.Progress = nil
			reopen(t, l)
			if o, err := l.Run(t.Context()); err != nil || o.Valid != 1 || len(o.Missing) != 0 {
				t.Errorf("resumed: got %+v %v", o, err)
			}
			l.Store.Close()
		})
	}
}

// A program that is silent at any stage is left at the trial's limit, or when the
// run is stopped.
func TestSilentAtEveryStage(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	for _, stage := range asked {
		bubble(t, stage.at, func(t *testing.T) {
			s := soundStack()
			s.acts[stage.at] = act{then: "hang"}
			began := time.Now()
			got := verdict(t, s)
			if took := time.Since(began); took > 61*time.Second || !says(got, stage.didNot) {
				t.Errorf("got %q after %v", got, took)
			}
		})
		bubble(t, stage.at+", stopped", func(t *testing.T) {
			s := soundStack()
			s.acts[stage.at] = act{then: "hang"}
			l, alive := fakeLab(t, s, 1)
			defer l.Store.Close()
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(100*time.Millisecond, cancel)
			began := time.Now()
			o, err := l.Run(ctx)
			alive.Wait()
			if !errors.Is(err, ErrStopped) || o.Invalid > 0 || time.Since(began) > time.Second {
				t.Errorf("got %+v %v after %v", o, err, time.Since(began))
			}
		})
	}
}

// Faults of the lab itself stop the run at once, burn no retries, and the run goes
// on where it stopped when they are gone.
func TestFaultsOfTheLabStopTheRun(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	for _, tt := range []struct {
		what        string
		breakIt     func(*Lab)
		want        string
		mend        func(*Lab)
		afterTrials int
	}{
		{"programs that cannot be started", func(l *Lab) {
			good, n := l.launch, new(atomic.Int32) // both sides' programs begin at once
			l.launch = func(ctx context.Context, on device.Device, c device.Command) (process, *stack.Conn, error) {
				if n.Add(1) > 2 { // the second trial's
					return nil, nil, fmt.Errorf("exec bin/edgegauge: %w", os.ErrNotExist)
				}
				return good(ctx, on, c)
			}
		}, "start the programs: the lab cannot go on: stacks/fake serve: exec bin/edgegauge: file does not exist",
			func(l *Lab) { var wg sync.WaitGroup; l.launch = soundStack().launch(&wg) }, 1},
		{"no room for temporary files", func(l *Lab) { os.Setenv("TMPDIR", "/nowhere/at/all") },
			"the lab cannot go on: stat /nowhere/at/all",
			func(l *Lab) { os.Setenv("TMPDIR", l.Exe) }, 0},
		{"a device that is not there", func(l *Lab) { l.Devices = nil }, "unknown device \"host\"",
			func(l *Lab) { l.Devices = map[string]device.Device{"host": device.Local{}} }, 0},
		{"a stack that is not there", func(l *Lab) { l.Stacks = nil }, "no stack \"fake\"",
			func(l *Lab) { l.Stacks = map[string]stack.Description{"fake": {Name: "fake"}} }, 0},
	} {
		t.Run(tt.what, func(t *testing.T) {
			tmp := os.TempDir()
			defer os.Setenv("TMPDIR", tmp)
			synctest.Test(t, func(t *testing.T) {
				l, alive := fakeLab(t, soundStack(), 4)
				defer func() { l.Store.Close() }()
				l.Exe = tmp
				tt.breakIt(l)
				o, err := l.Run(t.Context())
				alive.Wait()
				if !errors.Is(err, errLab) || !strings.Contains(fmt.Sprint(err), tt.want) || o.Valid != tt.afterTrials ||
					o.Invalid != 0 {
					t.Errorf("got %+v %v, want %q", o, err, tt.want)
				}
				tt.mend(l)
				reopen(t, l)
				if o, err := l.Run(t.Context()); err != nil || o.Valid != 4-tt.afterTrials || len(o.Missing) != 0 {
					t.Errorf("again: got %+v %v", o, err)
				}
			})
		})
	}
}

// A trial given up names the setting that gives it more attempts.
func TestTrialsGivenUpNameRetries(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		s := soundStack()
		s.acts[running] = act{say: "nonsense\n"}
		l, alive := fakeLab(t, s, 1)
		defer l.Store.Close()
		l.Plan.Study.Retries = 1
		o, err := l.Run(t.Context())
		alive.Wait()
		if err != nil || len(o.Missing) != 1 || o.Invalid != 2 {
			t.Fatalf("got %+v %v", o, err)
		}
		if want := "retries is 1"; !strings.Contains(o.Advice, want) {
			t.Errorf("got advice %q, want %q in it", o.Advice, want)
		}
	})
}

// A stack that logs without end is measured, and its log is cut and says so.
func TestEndlessLogsAreCut(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		l, _ := fakeLab(t, soundStack(), 1)
		defer l.Store.Close()
		one, _, _ := attachedTrial(t, l)
		w := watchLogs(one.attempt)
		path, _ := logNames(one.attempt, "serve.log")
		log, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer log.Close()
		if err := log.Truncate(mostLog + 1); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if fi, _ := os.Stat(path); fi.Size() != keptLog {
			t.Errorf("the log has %d B while the program runs, want %d", fi.Size(), keptLog)
		}
		fmt.Fprintln(log, "more")
		f, err := w.stop()
		b, _ := os.ReadFile(path)
		if err != nil || len(f.quality) != 1 || f.quality[0].Key != "log_cut_server" ||
			f.quality[0].Value != mostLog+1-keptLog {
			t.Errorf("got %+v %v", f, err)
		}
		if !strings.Contains(string(b[keptLog:]), "more\n\nedgegauge: truncated: this log grew beyond 16777216 B") {
			t.Errorf("the log ends with %q", b[keptLog:])
		}
	})
}

// The client's clock is held against the packets: half of what was on the wire is
// no measurement, a little less is how the two are read.
func TestClockAgainstThePackets(t *testing.T) {
	for _, tt := range []struct {
		what         string
		said, onWire time.Duration
		fault        bool
	}{
		{"an honest client", 5200 * time.Microsecond, 5100 * time.Microsecond, false},
		{"stamps read late", 5050 * time.Microsecond, 5100 * time.Microsecond, false},
		{"a client that halves its times", 2600 * time.Microsecond, 5100 * time.Microsecond, true},
		{"one that takes a third off", 3400 * time.Microsecond, 5100 * time.Microsecond, true},
		{"a loopback, where stamps matter", 20 * time.Microsecond, 60 * time.Microsecond, false},
		{"a client that waits long behind the wire", time.Second, time.Millisecond, false},
	} {
		if err := clockFault("round trips", tt.said, tt.onWire); (err != nil) != tt.fault {
			t.Errorf("%s: got %v", tt.what, err)
		}
	}
}

// A fakeAgent fails to copy as often as it is told to.
type fakeAgent struct {
	agent
	fail   int
	copied []string
	files  []string // of all that was copied
}

func (a *fakeAgent) PutAll(_ context.Context, _ string, names []string, there string) (string, error) {
	a.copied = append(a.copied, there)
	for _, name := range names {
		a.files = append(a.files, path.Join(there, name))
	}
	if a.fail > 0 {
		a.fail--
		return "", errFake
	}
	return "/agent/" + there, nil
}

// A stack whose copying failed is copied again, to where it then runs.
func TestFailedCopyIsNotStaged(t *testing.T) {
	dir := t.TempDir()
	for _, crossed := range []crossing{{}, {dir, "build", "server"}} {
		a := &fakeAgent{fail: 1}
		s := &stage{agent: a, name: "board", stacks: map[string]string{}, brought: map[crossing]bool{}}
		d := stack.Description{Name: "axis2", Dir: dir}
		if err := s.bring(t.Context(), d, crossed); !errors.Is(err, errFake) || len(s.stacks) != 0 {
			t.Errorf("crossed %v: got %v, staged %v", crossed, err, s.stacks)
		}
		if err := s.bring(t.Context(), d, crossed); err != nil || s.stacks["axis2"] != "/agent/stacks/axis2" ||
			len(a.copied) != 2 {
			t.Errorf("crossed %v: got %v, staged %v, copied %v", crossed, err, s.stacks, a.copied)
		}
	}
}
