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
		return errors.New("no device tree")
	}
	word := func(at int) (uint32, error) {
		if at < 0 || at+4 > len(tree) {
			return 0, errors.New("the device tree is cut short")
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
				return errors.New("the device tree ends a node too many")
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
					return fmt.Errorf("%s of %s is %d B long, not a number of 4", property, path, length)
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
