package qemu

import (
	"crypto/sha512"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Paths in the guest.
const (
	GuestExe  = "/bin/edgegauge" // the guest's program, which is also /init
	JobFile   = "/job"           // what a deterministic machine is to do
	seedFile  = "/seed"          // of everything random in the guest
	modulesIn = "/modules"
)

// IsGuest says that this process is the first of an emulated machine.
func IsGuest() bool { return os.Getpid() == 1 && filepath.Base(os.Args[0]) == "init" }

// SetUp makes a bare kernel a system: file systems, modules, random numbers,
// loopback. It runs once, in the first process of the guest.
func SetUp() error {
	for _, m := range [][3]string{{"proc", "/proc", "proc"}, {"sysfs", "/sys", "sysfs"}, {"devtmpfs", "/dev", "devtmpfs"},
		{"tmpfs", "/tmp", "tmpfs"}} {
		os.MkdirAll(m[1], 0o755)
		if err := unix.Mount(m[0], m[1], m[2], 0, ""); err != nil && !errors.Is(err, unix.EBUSY) {
			return fmt.Errorf("mount %s: %w", m[1], err)
		}
	}
	os.Setenv("PATH", "/bin:/usr/bin")
	os.Setenv("HOME", "/tmp")
	if err := unix.Sethostname([]byte("device")); err != nil {
		return err
	}
	if err := errors.Join(loadModules("list"), openFlash()); err != nil {
		return err
	}
	if err := seedRandom(); err != nil {
		return err
	}
	// some boards have no clock, and certificates need one
	t := unix.NsecToTimespec(time.Date(2020, 6, 1, 0, 0, 0, 0, time.UTC).UnixNano())
	if err := unix.ClockSettime(unix.CLOCK_REALTIME, &t); err != nil {
		return err
	}
	return setUp("lo")
}

// loadModules loads what a list in /modules names, in its order.
func loadModules(name string) error {
	list, err := os.ReadFile(filepath.Join(modulesIn, name))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	for name := range strings.FieldsSeq(string(list)) {
		f, err := os.Open(filepath.Join(modulesIn, name))
		if err != nil {
			return err
		}
		err = unix.FinitModule(int(f.Fd()), "", 0)
		f.Close()
		if err != nil && !errors.Is(err, unix.EEXIST) {
			return fmt.Errorf("module %s: %w", name, err)
		}
	}
	return err
}

// seedRandom makes the guest's random numbers follow from the seed: programs
// would else wait until the kernel has gathered enough by itself, and every boot
// of a deterministic machine would draw the same.
func seedRandom() error {
	seed, err := os.ReadFile(seedFile)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	sum := sha512.Sum512(seed)
	pool := binary.NativeEndian.AppendUint32(nil, uint32(8*len(sum))) // struct rand_pool_info: bits, bytes, the bytes
	pool = append(binary.NativeEndian.AppendUint32(pool, uint32(len(sum))), sum[:]...)
	f, err := os.OpenFile("/dev/urandom", os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	const rndAddEntropy = 0x40085203 // RNDADDENTROPY, random(4)
	if _, _, e := unix.Syscall(unix.SYS_IOCTL, f.Fd(), rndAddEntropy, uintptr(unsafe.Pointer(&pool[0]))); e != 0 {
		return fmt.Errorf("seed the random numbers: %w", e)
	}
	return nil
}

func setUp(iface string) error {
	var flags uint16
	err := ofCard(iface, unix.SIOCGIFFLAGS, func(*unix.Ifreq) {}, func(r *unix.Ifreq) { flags = r.Uint16() })
	if err != nil {
		return err
	}
	return ofCard(iface, unix.SIOCSIFFLAGS, func(r *unix.Ifreq) { r.SetUint16(flags | unix.IFF_UP) }, func(*unix.Ifreq) {})
}

// MemoryVerb is the hidden verb of the binary that prints what memory the
// guest's first process, which is its agent, has resident at rest, in KiB: all,
// and what of it is its own and no page of the program's file.
const MemoryVerb = "guest-memory"

// PrintMemory is that verb.
func PrintMemory([]string) int {
	time.Sleep(2 * time.Second) // it has just started us
	text, err := os.ReadFile("/proc/1/smaps_rollup")
	all, own := "Rss:", "Anonymous:"
	if err != nil { // a small kernel; the numbers of a larger one's are not exact here
		text, err = os.ReadFile("/proc/1/status")
		all, own = "VmRSS:", "RssAnon:"
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println(kibOf(string(text), all), kibOf(string(text), own))
	return 0
}

// kibOf is the number behind a word.
func kibOf(text, word string) int {
	_, rest, _ := strings.Cut(text, word)
	n := 0
	fmt.Sscan(rest, &n)
	return n
}

// PowerOff ends the machine. Some boards only halt; who started them sees the
// last line on the console.
func PowerOff() {
	unix.Sync()
	unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
	select {}
}
