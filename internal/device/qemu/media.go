package qemu

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

const (
	flashDevice = "/dev/mtdblock0"
	javaList    = "java" // of the modules that mounting the runtime needs
)

// javaModules are those that mount a file.
var javaModules = []string{"loop", "squashfs"}

// openFlash makes what lies in flash, or in a file in its place, the guest's: the
// job behind the root file system, or the Java runtime.
func openFlash() error {
	var at unix.Statfs_t
	if err := unix.Statfs("/", &at); err != nil {
		return err
	}
	switch {
	case at.Type == unix.SQUASHFS_MAGIC:
		return unpackJob()
	case isThere(javaMark):
		return mountJavaFile()
	case holdsSquash(flashDevice):
		return mountJava(flashDevice)
	}
	return nil
}

func isThere(name string) bool { _, err := os.Lstat(name); return err == nil }

// holdsSquash says whether a device begins with a squashfs; an empty
// one does not, nor one that is not there.
func holdsSquash(device string) bool {
	f, err := os.Open(device)
	if err != nil {
		return false
	}
	defer f.Close()
	magic := make([]byte, 4)
	_, err = io.ReadFull(f, magic)
	return err == nil && string(magic) == "hsqs"
}

// unpackJob puts the files behind the root file system into memory.
func unpackJob() error {
	if err := unix.Mount("tmpfs", runIn, "tmpfs", 0, ""); err != nil {
		return fmt.Errorf("mount %s: %w", runIn, err)
	}
	f, err := os.Open(flashDevice)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Seek(jobAt, io.SeekStart); err != nil {
		return err
	}
	return readArchive(bufio.NewReaderSize(f, 1<<16), runIn)
}

// mountJavaFile mounts the runtime that lies in memory, packed.
func mountJavaFile() error {
	if err := loadModules(javaList); err != nil {
		return err
	}
	file, err := os.Open(javaMark)
	if err != nil {
		return err
	}
	defer file.Close()
	const device = "/dev/loop0"
	var loop *os.File
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if loop, err = os.OpenFile(device, os.O_RDONLY, 0); err == nil {
			break
		}
		if time.Now().After(end) {
			return err
		}
	}
	defer loop.Close()
	c := unix.LoopConfig{Fd: uint32(file.Fd())}
	c.Info.Flags = unix.LO_FLAGS_READ_ONLY
	if err := unix.IoctlLoopConfigure(int(loop.Fd()), &c); err != nil {
		return fmt.Errorf("%s: %w", device, err)
	}
	return mountJava(device)
}

// mountJava mounts the runtime, and lets its files be found where they expect to be.
func mountJava(device string) error {
	if err := os.Mkdir(javaIn, 0o755); err != nil {
		return err
	}
	if err := unix.Mount(device, javaIn, "squashfs", unix.MS_RDONLY, ""); err != nil {
		return fmt.Errorf("mount %s: %w", javaIn, err)
	}
	os.MkdirAll("/etc", 0o755)
	return errors.Join(os.Symlink(javaIn+"/lib", "/lib"), os.Symlink(javaIn+"/usr", "/usr"),
		os.Symlink(javaIn+"/etc/java-17-openjdk", "/etc/java-17-openjdk"))
}
