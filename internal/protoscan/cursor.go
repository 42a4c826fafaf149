// Package protoscan walks over the fields of protobuf messages.
package protoscan

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// Wire types of protobuf. Groups do not occur in Kubernetes messages and are refused.
const (
	Number  = int(protowire.VarintType)
	Fixed32 = int(protowire.Fixed32Type)
	Fixed64 = int(protowire.Fixed64Type)
	Bytes   = int(protowire.BytesType) // a string, bytes or a message
	Absent  = -1                       // no field: Bytes and Uint return nothing
)

// Errors of a Cursor.
var (
	ErrCut      = errors.New("message is cut short")
	ErrOverflow = errors.New("number is too long")
	ErrTag      = errors.New("bad field tag")
)

// Cursor walks over the fields of one message:
//
//	for c := (Cursor{B: msg}); c.Next(); {
//		switch c.Num { … }
//	}
//	c.Err
//
// After Next the cursor holds one field, which ends at I: its number, its wire type, and either Number or B[From:To].
// If the content of a field is cut short, From is where it begins and Number is its size.
type Cursor struct {
	B         []byte
	I         int
	Num, Type int
	Number    uint64
	From, To  int
	Err       error
}

// Next reads the next field. It reports false at the end and on an error.
func (c *Cursor) Next() bool {
	if c.I >= len(c.B) || c.Err != nil {
		return false
	}
	tag := uint64(c.B[c.I])
	if tag < 0x80 {
		c.I++
	} else if tag = c.Varint(); c.Err != nil {
		return false
	}
	if tag>>3 == 0 || tag>>3 > uint64(protowire.MaxValidNumber) {
		c.Err = ErrTag
		return false
	}
	c.Num, c.Type = int(tag>>3), int(tag&7)
	switch c.Type {
	case Bytes:
		var n uint64
		if c.I < len(c.B) && c.B[c.I] < 0x80 {
			n = uint64(c.B[c.I])
			c.I++
		} else if n = c.Varint(); c.Err != nil {
			return false
		}
		c.From, c.Number = c.I, n
		if n > uint64(len(c.B)-c.I) {
			c.Err = ErrCut
			return false
		}
		c.I += int(n)
		c.To = c.I
	case Number:
		c.Number = c.Varint()
	case Fixed32:
		c.skip(4)
	case Fixed64:
		c.skip(8)
	default:
		c.Err = ErrTag
	}
	return c.Err == nil
}

// Varint reads a number of up to ten bytes at I, as in a packed list.
func (c *Cursor) Varint() uint64 {
	v, n := protowire.ConsumeVarint(c.B[c.I:])
	if n < 0 {
		c.Err = ErrCut
		if len(c.B)-c.I >= 10 {
			c.Err = ErrOverflow
		}
		return 0
	}
	c.I += n
	return v
}

func (c *Cursor) skip(n int) {
	if len(c.B)-c.I < n {
		c.Err = ErrCut
		return
	}
	c.I += n
}

// Bytes returns the content of the field, a part of B. A field that is not a string or message fails the cursor.
func (c *Cursor) Bytes() []byte {
	if c.Type != Bytes {
		c.Wrong()
		return nil
	}
	return c.B[c.From:c.To:c.To]
}

// Message returns a cursor over the message in the field. It has the error of a field that is not a message.
func (c *Cursor) Message() Cursor {
	b := c.Bytes()
	return Cursor{B: b, Err: c.Err}
}

// Uint returns the number in the field. A field that is not a number fails the cursor.
func (c *Cursor) Uint() uint64 {
	if c.Type != Number {
		c.Wrong()
		return 0
	}
	return c.Number
}

// Wrong fails the cursor: its field has the wrong wire type. One without a field stays as it is.
func (c *Cursor) Wrong() {
	if c.Type != Absent {
		c.Err = fmt.Errorf("field %d has wire type %d", c.Num, c.Type)
	}
}

// All returns the contents of the fields of one number.
func All(msg []byte, num int) (all [][]byte, err error) {
	c := Cursor{B: msg}
	for c.Next() {
		if c.Num == num {
			all = append(all, c.Bytes())
		}
	}
	return all, c.Err
}

// Embedded returns the embedded message of one field. It concatenates the occurrences, which merges them.
func Embedded(msg []byte, num int) (sub []byte, found bool, err error) {
	c := Cursor{B: msg}
	for c.Next() {
		if c.Num != num {
			continue
		}
		switch b := c.Bytes(); {
		case c.Err != nil:
		case !found:
			sub, found = b, true
		default:
			sub = append(sub, b...) // cap is len: this copies
		}
	}
	return sub, found, c.Err
}
