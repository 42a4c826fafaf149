package wire

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// Wire types of protobuf. Groups do not occur in Kubernetes messages and are refused.
const (
	typeVarint  = int(protowire.VarintType)
	typeFixed32 = int(protowire.Fixed32Type)
	typeFixed64 = int(protowire.Fixed64Type)
	typeBytes   = int(protowire.BytesType)
)

var (
	errTruncatedMessage = errors.New("message is cut short")
	errOverflow         = errors.New("number is too long")
	errBadTag           = errors.New("bad field tag")
	errUTF8             = errors.New("invalid UTF-8")
	errEmptyName        = errors.New("name is empty")
)

// cursor walks over the fields of one protobuf message:
//
//	for c := (cursor{b: msg}); c.next(); {
//		switch c.num { … }
//	}
//	c.err
//
// After next the cursor holds one field: its number, its wire type, and either number or
// b[from:to].
type cursor struct {
	b        []byte
	i        int
	num      int
	typ      int
	number   uint64
	from, to int
	err      error
}

// next reads the next field. It reports false at the end and on an error.
func (c *cursor) next() bool {
	if c.i >= len(c.b) || c.err != nil {
		return false
	}
	tag := uint64(c.b[c.i])
	if tag < 0x80 {
		c.i++
	} else if tag = c.varint(); c.err != nil {
		return false
	}
	if tag>>3 == 0 || tag>>3 > uint64(protowire.MaxValidNumber) {
		c.err = errBadTag
		return false
	}
	c.num, c.typ = int(tag>>3), int(tag&7)
	switch c.typ {
	case typeBytes:
		var n uint64
		if c.i < len(c.b) && c.b[c.i] < 0x80 {
			n = uint64(c.b[c.i])
			c.i++
		} else if n = c.varint(); c.err != nil {
			return false
		}
		if n > uint64(len(c.b)-c.i) {
			c.err = errTruncatedMessage
			return false
		}
		c.from = c.i
		c.i += int(n)
		c.to = c.i
	case typeVarint:
		c.number = c.varint()
	case typeFixed32:
		c.skip(4)
	case typeFixed64:
		c.skip(8)
	default:
		c.err = errBadTag
	}
	return c.err == nil
}

// varint reads a number of up to ten bytes.
func (c *cursor) varint() uint64 {
	v, n := protowire.ConsumeVarint(c.b[c.i:])
	if n < 0 {
		c.err = errTruncatedMessage
		if len(c.b)-c.i >= 10 {
			c.err = errOverflow
		}
		return 0
	}
	c.i += n
	return v
}

func (c *cursor) skip(n int) {
	if len(c.b)-c.i < n {
		c.err = errTruncatedMessage
		return
	}
	c.i += n
}

// bytes returns the content of the field, a part of c.b. A field that is not a string or message fails the cursor.
func (c *cursor) bytes() []byte {
	if c.typ != typeBytes {
		c.err = fmt.Errorf("field %d has wire type %d", c.num, c.typ)
		return nil
	}
	return c.b[c.from:c.to:c.to]
}

// uint returns the number in the field. A field that is not a number fails the cursor.
func (c *cursor) uint() uint64 {
	if c.typ != typeVarint {
		c.err = fmt.Errorf("field %d has wire type %d", c.num, c.typ)
		return 0
	}
	return c.number
}

// embedded returns the embedded message of one field. It concatenates the occurrences, which merges them.
func embedded(msg []byte, num int) (sub []byte, found bool, err error) {
	c := cursor{b: msg}
	for c.next() {
		if c.num != num {
			continue
		}
		switch b := c.bytes(); {
		case c.err != nil:
		case !found:
			sub, found = b, true
		default:
			sub = append(sub, b...) // cap is len: this copies
		}
	}
	return sub, found, c.err
}
