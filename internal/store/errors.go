package store

import (
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"modernc.org/sqlite"
)

// What a caller may want to tell apart. Errors wrap one of these and say where
// and what to do.
var (
	ErrExists    = errors.New("results exist")
	ErrForeign   = errors.New("not a results directory")
	ErrLocked    = errors.New("another lab is writing here")
	ErrNewer     = errors.New("newer format")
	ErrChanged   = errors.New("study changed")
	ErrEdited    = errors.New("file changed since it was written")
	ErrMissing   = errors.New("file missing")
	ErrCorrupt   = errors.New("unreadable")
	ErrDiskFull  = errors.New("disk full")
	ErrFileLimit = errors.New("limit of file sizes")
	ErrDenied    = errors.New("no permission to write")
	ErrUnread    = errors.New("not readable here") // which says nothing of what it holds
	ErrNoData    = errors.New("no such data")      // absent, not broken
)

// A problem is an error of a kind above, in words of its own.
type problem struct {
	kind error
	text string
}

func (p problem) Error() string { return p.text }
func (p problem) Unwrap() error { return p.kind }

func fail(kind error, format string, args ...any) error {
	return problem{kind, fmt.Sprintf(format, args...)}
}

// minFree is the space a run cannot do without: the ledger's log and one
// trial's files.
const minFree = 16 << 20

// Worded puts an error of what was written below dir into words that say what to do, as the store's own are.
func Worded(dir string, err error) error { return word(dir, err) }

// word puts the operating system's and SQLite's errors into the house's words.
func word(dir string, err error) error { return wordFor(dir, err, func() int64 { return minFree }) }

// word asks for as much space as the trials left are likely to fill.
func (s *Store) word(err error) error { return wordFor(s.dir, err, s.spaceToGo) }

// unread is the error of a file or a folder that this machine or this user cannot read, and word of any other.
func (s *Store) unread(name string, err error) error {
	for _, kind := range []error{fs.ErrPermission, syscall.EIO, syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM,
		syscall.ESTALE} {
		if errors.Is(err, kind) {
			return fail(errors.Join(ErrUnread, err), "%s: %v; it cannot be compared with what the lab wrote: ask its owner to "+
				"permit reading it, or see the kernel's log (dmesg) for its disk", filepath.Join(s.dir, name), cause(err))
		}
	}
	return s.word(err)
}

// cause is the error of a file without its name.
func cause(err error) error {
	if p := (&fs.PathError{}); errors.As(err, &p) {
		return p.Err
	}
	return err
}

const unreadableHere = "%s: %v; results cannot be read here: ask their owner to permit it"

func wordFor(dir string, err error, need func() int64) error {
	if err == nil {
		return nil
	}
	if p := (problem{}); errors.As(err, &p) {
		return err
	}
	if isFull(dir, err) {
		return fail(ErrDiskFull, "disk full: %s: %v; free %d MB and run again: nothing committed is lost", dir, err,
			(need()+1<<20-1)>>20)
	}
	if file, most := beyondLimit(dir, err); file != "" {
		return fail(ErrFileLimit, "%s cannot grow: a file of this process may have at most %d kB (ulimit -f); raise the "+
			"limit, as with ulimit -f unlimited, and run again: nothing committed is lost", file, most/1000)
	}
	if p := (&fs.PathError{}); errors.As(err, &p) && p.Op == "stat" && errors.Is(err, fs.ErrPermission) {
		return fail(ErrDenied, unreadableHere, dir, err)
	}
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		return fail(ErrDenied,
			"%s: %v; results cannot be written here: choose another directory, or change its permissions", dir, err)
	}
	switch code := sqliteCode(err) & 0xff; {
	case code == 11 || code == 26: // SQLITE_CORRUPT, SQLITE_NOTADB
		return fail(ErrCorrupt,
			"%s/%s: not a readable ledger (%v); restore it from a copy, or run the study into a new directory", dir,
			ledgerFile, err)
	case code == 10: // SQLITE_IOERR
		return fmt.Errorf("%s/%s: %w; its disk cannot be written or read, for which the kernel's log (dmesg) may say why; "+
			"run again when it can, or into a directory on another disk", dir, ledgerFile, err)
	case errors.Is(err, fs.ErrNotExist):
		return fail(ErrMissing, "%s: %v; restore it from a copy, or run the study into a new directory", dir, err)
	}
	return fmt.Errorf("%s: %w", dir, err)
}

// isFull tells whether err comes from want of space. SQLite reports some such
// errors only as "I/O error", so the file system is asked too.
func isFull(dir string, err error) bool {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return true
	}
	code := sqliteCode(err)
	if code&0xff == 13 { // SQLITE_FULL
		return true
	}
	var st syscall.Statfs_t
	return code&0xff == 10 && syscall.Statfs(dir, &st) == nil && st.Bavail*uint64(st.Bsize) < 1<<20 // SQLITE_IOERR
}

// beyondLimit is the file that cannot be written since it would be larger than the B which this process may give one
// (RLIMIT_FSIZE); empty: err is another. SQLite calls it an I/O error, so the ledger's files are looked at.
func beyondLimit(dir string, err error) (file string, most uint64) {
	const step = 64 << 10 // B by which SQLite makes its files larger at most: a page, or 32 KiB of the log's index
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit) != nil {
		return "", 0
	}
	if p := (&fs.PathError{}); errors.As(err, &p) && errors.Is(err, syscall.EFBIG) {
		return p.Path, limit.Cur
	}
	if sqliteCode(err)&0xff != 10 || limit.Cur == unlimited { // SQLITE_IOERR
		return "", 0
	}
	ledger := filepath.Join(dir, ledgerFile)
	for _, of := range []string{"-wal", "-shm", ""} {
		switch info, err := os.Stat(ledger + of); {
		case err == nil && uint64(info.Size())+step > limit.Cur:
			return ledger + of, limit.Cur
		case err != nil && of == "": // it was being made
			return ledger, limit.Cur
		}
	}
	return "", 0
}

// unlimited is RLIM_INFINITY.
const unlimited = 1<<64 - 1

// lacking reports whether err comes from what this machine lacks for now, such as space or
// descriptors, and so says nothing of the files in dir.
func lacking(dir string, err error) bool {
	for _, kind := range []error{ErrDiskFull, ErrFileLimit, syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG, syscall.EMFILE,
		syscall.ENFILE, syscall.ENOMEM, syscall.EIO} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return isFull(dir, err) || sqliteCode(err)&0xff == 14 && fewDescriptors() // SQLITE_CANTOPEN, for whatever reason
}

// fewDescriptors reports whether hardly any more file can be opened.
func fewDescriptors() bool {
	for range 4 { // a ledger takes three descriptors, a pipe two
		r, w, err := os.Pipe()
		if err != nil {
			return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
		}
		defer r.Close()
		defer w.Close()
	}
	return false
}

func sqliteCode(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code()
	}
	return 0
}

// spaceToGo is what the trials left will need, judged by those done; never
// less than minFree.
func (s *Store) spaceToGo() int64 {
	var mean sql.NullFloat64
	var left int64
	err := s.db.QueryRow(`SELECT (SELECT avg(b) FROM (SELECT sum(bytes) AS b FROM files GROUP BY trial, attempt)),
		(SELECT count(*) FROM trials WHERE state <> 'valid')`).Scan(&mean, &left)
	if err != nil {
		return minFree
	}
	return minFree + int64(mean.Float64*float64(left))
}
