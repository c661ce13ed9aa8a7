package qemu

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

// setCell overwrites one number in a flattened device tree (Devicetree
// Specification 0.4, chapter 5): property, 4 bytes long, of the node at path.
//
//	header: magic 0xd00dfeed, total size, offset of the structure, offset of the strings, …
//	structure: 1 name… begins a node, 2 ends it, 3 length offset-of-name value… is a property, 4 nothing, 9 the end
func setCell(tree []byte, path, property string, value uint32) error {
	if len(tree) < 40 || binary.BigEndian.Uint32(tree) != 0xd00dfeed {
		return errors.New("not a device tree")
	}
	word := func(at int) (uint32, error) {
		if at < 0 || at+4 > len(tree) {
			return 0, errors.New("the device tree is truncated")
		}
		return binary.BigEndian.Uint32(tree[at:]), nil
	}
	text := func(at int) string {
		if at < 0 || at >= len(tree) {
			return ""
		}
		s, _, _ := strings.Cut(string(tree[at:min(len(tree), at+256)]), "\x00")
		return s
	}
	start, _ := word(8)
	strs, _ := word(12)
	var here []string
	for at := int(start); ; {
		token, err := word(at)
		if err != nil {
			return err
		}
		at += 4
		switch token {
		case 1:
			name := text(at)
			here = append(here, name)
			at += (len(name) + 4) &^ 3
		case 2:
			if len(here) == 0 {
				return errors.New("the device tree ends one node too many")
			}
			here = here[:len(here)-1]
		case 3:
			length, err := word(at)
			if err != nil {
				return err
			}
			name, err := word(at + 4)
			if err != nil {
				return err
			}
			if strings.Join(here, "/") == path && text(int(strs)+int(name)) == property {
				if length != 4 || at+12 > len(tree) {
					return fmt.Errorf("%s of %s is %d B long, not a number of 4 B", property, path, length)
				}
				binary.BigEndian.PutUint32(tree[at+8:], value)
				return nil
			}
			at += 8 + (int(length)+3)&^3
		case 4:
		default:
			return fmt.Errorf("the device tree has no %s of %s", property, path)
		}
	}
}

// addSeed gives the tree a node chosen with room for a seed, which QEMU fills
// from its own -seed: without one the kernel of a machine whose time is counted
// would wait for randomness that never comes. A node that is there gets it as
// its first property.
func addSeed(tree []byte) ([]byte, error) {
	if len(tree) < 40 || binary.BigEndian.Uint32(tree) != 0xd00dfeed {
		return nil, errors.New("not a device tree")
	}
	be := binary.BigEndian
	structure, names := int(be.Uint32(tree[8:])), int(be.Uint32(tree[12:]))
	namesLen, structLen := int(be.Uint32(tree[32:])), int(be.Uint32(tree[36:]))
	if structure+structLen > names || names+namesLen > len(tree) || structLen < 16 {
		return nil, errors.New("a device tree not laid out as dtc does it")
	}
	const seed = 64
	property := be.AppendUint32(be.AppendUint32(be.AppendUint32(nil, 3), seed), uint32(namesLen))
	property = append(property, make([]byte, seed)...)
	block := tree[structure : structure+structLen]
	node := []byte("\x00\x00\x00\x01chosen\x00\x00")
	at := strings.Index(string(block), string(node))
	if at >= 0 {
		at += len(node)
	} else {
		if at = endOfProperties(block); at < 0 {
			return nil, errors.New("the device tree is truncated")
		}
		property = append(append(node, property...), 0, 0, 0, 2)
	}
	out := append([]byte{}, tree[:structure+at]...)
	out = append(out, property...)
	out = append(out, block[at:]...)
	be.PutUint32(out[12:], uint32(len(out)))
	out = append(append(out, tree[names:names+namesLen]...), "rng-seed\x00"...)
	be.PutUint32(out[4:], uint32(len(out)))
	be.PutUint32(out[32:], uint32(namesLen+len("rng-seed\x00")))
	be.PutUint32(out[36:], uint32(structLen+len(property)))
	return out, nil
}

// endOfProperties is where the root's properties end and its nodes begin.
func endOfProperties(block []byte) int {
	at := 8 // the root's beginning and its empty name
	for at+12 <= len(block) {
		switch binary.BigEndian.Uint32(block[at:]) {
		case 3:
			at += 12 + (int(binary.BigEndian.Uint32(block[at+4:]))+3)&^3
		case 4:
			at += 4
		default:
			return at
		}
	}
	return -1
}
