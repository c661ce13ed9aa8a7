package main

import (
	"bufio"
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A process's wall clock is set without touching the machine's: a time namespace has no CLOCK_REALTIME, and programs
// made by Go load no library that could stand between. They ask the vDSO (vdso(7)), a page of code that the kernel
// lends each process. Written through /proc/PID/mem it becomes the process's own copy. In place of clock_gettime we put
// a version that asks the kernel and adds an offset to CLOCK_REALTIME; no other clock changes.

// steppedClock is that code for amd64, and skewAt is where its offset lies, in seconds.
var steppedClock = []byte{
	0xb8, 0xe4, 0, 0, 0, // mov eax, 228: clock_gettime(edi, rsi)
	0x0f, 0x05, // syscall
	0x85, 0xc0, // test eax, eax
	0x75, 0x10, // jne end
	0x85, 0xff, // test edi, edi: CLOCK_REALTIME is 0
	0x75, 0x0c, // jne end
	0x48, 0x8b, 0x05, 0x0a, 0, 0, 0, // mov rax, [offset]
	0x48, 0x01, 0x06, // add [rsi], rax
	0x31, 0xc0, // xor eax, eax
	0xc3,                               // end: ret
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, // offset
}

const skewAt = 32

// clocksCanBeSet says whether setClock works on this kind of machine.
const clocksCanBeSet = runtime.GOARCH == "amd64"

// setClock sets the wall clock of a process, as far from the machine's as it says.
func setClock(pid int, by time.Duration) error {
	mem, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer mem.Close()
	first, last, err := vdso(pid)
	if err != nil {
		return err
	}
	image := make([]byte, last-first)
	if _, err := mem.ReadAt(image, int64(first)); err != nil {
		return err
	}
	file, err := elf.NewFile(bytes.NewReader(image))
	if err != nil {
		return err
	}
	symbols, err := file.DynamicSymbols()
	if err != nil {
		return err
	}
	for _, s := range symbols {
		if s.Name != "__vdso_clock_gettime" {
			continue
		}
		code := bytes.Clone(steppedClock)
		binary.LittleEndian.PutUint64(code[skewAt:], uint64(int64(by/time.Second)))
		if bytes.Equal(image[s.Value:s.Value+skewAt], code[:skewAt]) {
			_, err := mem.WriteAt(code[skewAt:], int64(first+s.Value+skewAt))
			return err
		}
		return whileOutside(pid, first, last, func() error {
			_, err := mem.WriteAt(code, int64(first+s.Value))
			return err
		})
	}
	return errors.New("the vDSO has no clock_gettime")
}

// vdso is where a process has it.
func vdso(pid int) (first, last uint64, err error) {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(maps)) {
		if strings.Contains(line, "[vdso]") {
			_, err := fmt.Sscanf(line, "%x-%x", &first, &last)
			return first, last, err
		}
	}
	return 0, 0, errors.New("there is no vDSO")
}

// whileOutside stops a process while none of its threads runs code of a range.
func whileOutside(pid int, first, last uint64, do func() error) error {
	for range 1000 {
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			return err
		}
		outside, err := allOutside(pid, first, last)
		if err == nil && outside {
			err = do()
		}
		if e := syscall.Kill(pid, syscall.SIGCONT); err == nil {
			err = e
		}
		if err != nil || outside {
			return err
		}
		time.Sleep(time.Millisecond)
	}
	return errors.New("it always asks for the time")
}

// allOutside says whether all threads have stopped outside of a range.
func allOutside(pid int, first, last uint64) (bool, error) {
	for range 1000 {
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/syscall", pid))
		if err != nil || len(threads) == 0 {
			return false, errors.Join(err, os.ErrProcessDone)
		}
		running := false
		for _, file := range threads {
			text, err := os.ReadFile(file) // proc_pid_syscall(5): the last number is the instruction pointer
			if err != nil {
				return false, err
			}
			words := strings.Fields(string(text))
			if words[0] == "running" {
				running = true
				break
			}
			at, err := strconv.ParseUint(words[len(words)-1], 0, 64)
			if err != nil {
				return false, err
			}
			if at >= first && at < last {
				return false, nil
			}
		}
		if !running {
			return true, nil
		}
		time.Sleep(time.Millisecond)
	}
	return false, errors.New("it does not stop")
}

// tellTime is a process that says what time it is, once for each line of its input.
func tellTime() {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		now := time.Now()
		fmt.Println(now.UnixNano(), int64(time.Since(processStart)))
	}
}

var processStart = time.Now()

// Another process's wall clock goes forth and back, and its monotonic clock does not.
func TestSetClock(t *testing.T) {
	if !clocksCanBeSet {
		t.Skip("clocks of processes are set on amd64 only")
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Args[0] = "tell-time"
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
	defer cmd.Wait()
	defer in.Close()
	var last int64
	for _, by := range []time.Duration{0, time.Hour, -time.Hour, 0} {
		if by != 0 || last != 0 {
			if err := setClock(cmd.Process.Pid, by); err != nil {
				t.Fatal(err)
			}
		}
		fmt.Fprintln(in)
		var wall, since int64
		if _, err := fmt.Fscan(out, &wall, &since); err != nil {
			t.Fatal(err)
		}
		if off := time.Until(time.Unix(0, wall)) - by; off.Abs() > time.Minute {
			t.Errorf("set by %v it is off by %v more", by, off)
		}
		if since < last || since > last+int64(time.Minute) {
			t.Errorf("set by %v its monotonic clock went from %d to %d", by, last, since)
		}
		last = since
	}
}
