package qemu

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/device"
)

// big is a file of so many bytes that takes no disk.
func big(t *testing.T, name string, size int64) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := errors.Join(os.WriteFile(file, nil, 0o644), os.Truncate(file, size)); err != nil {
		t.Fatal(err)
	}
	return file
}

// What a machine is given fits, or is refused with what takes how much.
func TestWhatAMachineIsGivenFitsItsMemory(t *testing.T) {
	const small, whole = 10_500_000, 42_401_954 // B, of edgegauge-board and of edgegauge in 2026
	for _, tt := range []struct {
		board   string
		program int64
		java    int64
		stacks  int64
		want    string // empty: it fits
	}{
		{"cortex-a7", small, 51_900_000, 25_000_000, ""},
		{"cortex-a7", small, 51_900_000, 50_000_000, "its program 11 MB, Java 52 MB, stacks 50 MB; it can unpack 100 MB"},
		{"cortex-a7", whole, 0, 20_000_000, ""},
		{"cortex-a7", whole, 0, 40_000_000, "its program 42 MB, stacks 40 MB; it can unpack 75 MB"},
		{"cortex-a53", small, 59_000_000, 83_000_000, ""},
		{"cortex-a53", small, 59_000_000, 150_000_000, "stacks 150 MB"},
		{"raspberry-pi-1", whole, 59_000_000, 25_000_000, ""}, // Java lies in its flash
		{"raspberry-pi-1", small, 59_000_000, 83_000_000, "its program 11 MB, stacks 83 MB"},
		{"arm9-200", whole, 0, 5_000_000, ""}, // so does its program
		{"arm9-200", whole, 0, 16_000_000, "does not fit into its memory: stacks 16 MB; it can unpack 16 MB"},
	} {
		b, _ := Find(tt.board)
		files := []device.File{{Name: "/stacks/x/app.jar", Source: big(t, "app.jar", tt.stacks)},
			{Name: "/stacks/x/app.jar", Source: big(t, "app.jar", tt.stacks)}} // of both sides
		if tt.java > 0 {
			files = append(files, device.File{Name: javaMark, Source: big(t, javaFile, tt.java)})
		}
		err := Image{Board: b, Dir: t.TempDir()}.Fits(tt.program, files)
		if tt.want == "" && err != nil || tt.want != "" && (!errors.Is(err, ErrNoRoom) ||
			!strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s with %d, %d and %d B: got %v, want %q", tt.board, tt.program, tt.java, tt.stacks, err, tt.want)
		}
	}
}

// Kernels were booted with a file of zeros as the only thing they were given. Into a tmpfs, cortex-a7 unpacked 73 MB
// and not 76, cortex-a53 139 and not 144; into a ramfs, cortex-a7 107 and not 111, and cortex-a53 not 205.
func TestNoKernelIsGivenMoreThanItUnpacks(t *testing.T) {
	for _, tt := range []struct {
		board       string
		java        int64 // 0: into a tmpfs
		fits, stops int64 // B in all
	}{
		{"cortex-a7", 0, 73_000_000, 76_000_000}, {"cortex-a7", 50_000_000, 99_000_000, 111_000_000},
		{"cortex-a53", 0, 139_000_000, 144_000_000}, {"cortex-a53", 50_000_000, 195_000_000, 205_000_000},
	} {
		b, _ := Find(tt.board)
		for _, total := range []int64{tt.fits, tt.stops} {
			var files []device.File
			if tt.java > 0 {
				files = append(files, device.File{Name: javaMark, Source: big(t, javaFile, tt.java)})
			}
			err := Image{Board: b, Dir: t.TempDir()}.Fits(total-tt.java, files)
			if (err == nil) != (total == tt.fits) {
				t.Errorf("%s, %d B, of them Java %d: got %v", tt.board, total, tt.java, err)
			}
		}
	}
}

// A trial that does not fit is refused before anything is started, alone and among others.
func TestAMachineWithoutRoomIsNotBooted(t *testing.T) {
	seen := filepath.Join(t.TempDir(), "seen")
	fakeQEMU(t, sound, "touch "+seen+"; exit 1")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	im := fakeImage(t)
	d, err := NewEnclosed(t.Context(), im, exe, exe)
	if err != nil {
		t.Fatal(err)
	}
	d.Temp = t.TempDir()
	_, err = d.Enclose(t.Context(), device.Job{Seed: 1, Files: []device.File{{Name: "/x", Source: big(t, "x", 200<<20)}}})
	if !errors.Is(err, ErrNoRoom) || !strings.HasPrefix(err.Error(), "device cortex-a7: ") || exists(seen) {
		t.Errorf("got %v, started: %v", err, exists(seen))
	}
	im.Java = &Java{Dir: filepath.Dir(big(t, javaFile, 200<<20))}
	among := &Interactive{Image: im, Exe: exe, Guest: exe, Temp: t.TempDir(), Mode: Free}
	defer among.Close()
	if _, err := among.boot(t.Context(), false); !errors.Is(err, ErrNoRoom) || exists(seen) {
		t.Errorf("among others: got %v, started: %v", err, exists(seen))
	}
}

// A board whose program lies beside Java in its memory unpacks it into a ramfs, which may have all of it. No other
// does: what would be refused there by a tmpfs fills a ramfs until nothing is left.
func TestOnlyJavaIsUnpackedIntoARamfs(t *testing.T) {
	for _, b := range Boards() {
		for _, java := range []bool{false, true} {
			words := strings.Join(b.argv(Paced, java, 1), " ")
			if got := strings.Contains(words, "rootfstype=ramfs"); got != java {
				t.Errorf("%s, Java %v: %s", b.Name, java, words)
			}
		}
	}
}
