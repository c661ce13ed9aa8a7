package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	mathbits "math/bits"
	"path/filepath"
	"strings"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// sealKey of the table meta has the seal of the ledger, of ledgers since format 2.
const sealKey = "seal"

// A seal is the sum of the digests of all rows of a ledger but its own, modulo 2^256. Whatever row is changed, added or
// taken away, in whatever table, changes it, and a transaction keeps it by the rows that it changes alone. Whoever
// computes it anew can forge it: it is no signature.
type seal [4]uint64 // from the least

func (s *seal) add(other seal) {
	var carry uint64
	for i := range s {
		s[i], carry = mathbits.Add64(s[i], other[i], carry)
	}
}

func (s *seal) subtract(other seal) {
	var borrow uint64
	for i := range s {
		s[i], borrow = mathbits.Sub64(s[i], other[i], borrow)
	}
}

func (s seal) String() string {
	var b [32]byte
	for i, part := range s {
		binary.LittleEndian.PutUint64(b[8*i:], part)
	}
	return hex.EncodeToString(b[:])
}

func parseSeal(text string) (s seal, err error) {
	b, err := hex.DecodeString(text)
	if err != nil || len(b) != 32 {
		return s, fmt.Errorf("%s %.80q in the ledger: not what a lab writes; restore it from a copy", sealKey, text)
	}
	return sealOf(b), nil
}

func sealOf(b []byte) (s seal) {
	for i := range s {
		s[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	return s
}

// A rowSealer computes the seals of single rows. SQLite keeps whole numbers of a column of reals as integers, and shows
// them as either; the driver's hook shows texts up to their first NUL.
type rowSealer struct{ text []byte }

func (r *rowSealer) of(table string, row []any) seal {
	if table == "meta" && len(row) > 0 && row[0] == sealKey {
		return seal{}
	}
	b := append(append(r.text[:0], table...), 0)
	number := func(kind byte, v uint64) { b = binary.LittleEndian.AppendUint64(append(b, kind), v) }
	for _, v := range row {
		switch v := v.(type) {
		case nil:
			b = append(b, 'n')
		case int64:
			number('i', uint64(v))
		case float64:
			if whole := int64(v); v == float64(whole) && math.Abs(v) < 1<<53 {
				number('i', uint64(whole))
			} else {
				number('f', math.Float64bits(v))
			}
		case string:
			v, _, _ = strings.Cut(v, "\x00")
			number('t', uint64(len(v)))
			b = append(b, v...)
		case []byte:
			number('b', uint64(len(v)))
			b = append(b, v...)
		}
	}
	r.text = b
	sum := sha256.Sum256(b)
	return sealOf(sum[:])
}

// sealed runs f in one transaction, durable when it returns nil, and keeps the seal of a ledger that has one.
func sealed(db *sql.DB, f func(*sql.Tx) error) error {
	ctx := context.Background()
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	var changed seal
	var rows rowSealer
	var missed error
	hook := func(note sqlite.PreUpdateHookFn) error {
		return conn.Raw(func(c any) error {
			c.(sqlite.HookRegisterer).RegisterPreUpdateHook(note)
			return nil
		})
	}
	if err := hook(func(d sqlite.SQLitePreUpdateData) {
		row := make([]any, d.Count())
		if d.Op != sqlite3.SQLITE_INSERT {
			missed = errors.Join(missed, d.Old(row...))
			changed.subtract(rows.of(d.TableName, row))
		}
		if d.Op != sqlite3.SQLITE_DELETE {
			missed = errors.Join(missed, d.New(row...))
			changed.add(rows.of(d.TableName, row))
		}
	}); err != nil {
		return err
	}
	defer hook(nil)
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err = f(tx); err == nil {
		err = errors.Join(missed, changed.keep(tx))
	}
	if err != nil {
		tx.Rollback()
		return err
	}
	return tx.Commit()
}

// keep adds what a transaction changed to the seal of a ledger that has one.
func (s seal) keep(tx *sql.Tx) error {
	text, err := metaOf(tx, sealKey)
	if err != nil || text == "" {
		return err
	}
	was, err := parseSeal(text)
	if err != nil {
		return err
	}
	was.add(s)
	return setMeta(tx, sealKey, was.String())
}

// metaOf is a value of the table meta; empty: there is none.
func metaOf(from querier, key string) (value string, err error) {
	err = from.QueryRow("SELECT value FROM meta WHERE key = ?", key).Scan(&value)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return value, err
}

// setMeta writes it. Note: of a row that is replaced, SQLite's hook says nothing.
func setMeta(tx *sql.Tx, key, value string) error {
	_, err := tx.Exec("INSERT INTO meta VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value", key, value)
	return err
}

// checkSeal compares all rows with the seal, as they are at one instant: a lab may be writing.
func (s *Store) checkSeal() error {
	if s.format < sealedFormat {
		return nil
	}
	tx, err := s.db.BeginTx(context.Background(), &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return s.word(err)
	}
	defer tx.Rollback()
	want, err := metaOf(tx, sealKey)
	if err != nil {
		return s.word(err)
	}
	now, err := sealOfAll(tx)
	if err != nil {
		return s.word(err)
	}
	if now.String() == want {
		return nil
	}
	return fail(ErrEdited, "%s: rows were changed, added or removed since the lab wrote it; restore the ledger from a "+
		"copy", s.path(ledgerFile))
}

// Reseal gives a ledger that has a seal the one that fits it, and changes nothing else. It is for who fabricates
// results, as anybody can.
func Reseal(dir string) error {
	db, err := sql.Open("sqlite", dsn(filepath.Join(dir, ledgerFile), "busy_timeout(10000)"))
	if err != nil {
		return err
	}
	return errors.Join(sealed(db, func(tx *sql.Tx) error {
		if was, err := metaOf(tx, sealKey); err != nil || was == "" {
			return err
		}
		now, err := sealOfAll(tx)
		if err == nil {
			err = setMeta(tx, sealKey, now.String())
		}
		return err
	}), db.Close())
}

func sealOfAll(tx *sql.Tx) (sum seal, err error) {
	tables, err := tablesOf(tx)
	for _, table := range tables {
		part, err := sealOfTable(tx, table)
		if err != nil {
			return sum, err
		}
		sum.add(part)
	}
	return sum, err
}

// tablesOf are all tables: checkSchema knows each.
func tablesOf(from querier) (all []string, err error) {
	rows, err := from.Query("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' " +
		"ESCAPE '\\'")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		all = append(all, name)
	}
	return all, rows.Err()
}

func sealOfTable(tx *sql.Tx, table string) (sum seal, err error) {
	rows, err := tx.Query("SELECT * FROM " + table)
	if err != nil {
		return sum, err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return sum, err
	}
	row, at := make([]any, len(columns)), make([]any, len(columns))
	for i := range row {
		at[i] = &row[i]
	}
	var sealer rowSealer
	for rows.Next() {
		if err := rows.Scan(at...); err != nil {
			return sum, err
		}
		sum.add(sealer.of(table, row))
	}
	return sum, rows.Err()
}
