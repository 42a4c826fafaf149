package replay

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/encoding/protowire"
)

// mark says where a message ends on its reel, and where its variable parts are. These differ in
// another version or another incarnation of the same object. So a message can be played as events
// that were not recorded.
type mark struct {
	End uint64
	// Version and UID are the offsets of the resourceVersion and the uid. Zero means none.
	Version, UID uint32
	// Name is the offset of the letters in the name that may be replaced, renamed of them. Zero
	// means none.
	Name uint32
}

const (
	markSize = 8 + 3*4
	renamed  = 3
	letters  = "bcdfghjklmnpqrstvwxz2456789"
	uidSize  = 36
)

// find returns the mark of a message with the object of that number.
func (f Form) find(message []byte, object int) (m mark, err error) {
	var name, version, uid int
	var nameSize int
	if f.protobuf() {
		name, nameSize, uid, version, err = findProtobuf(message)
	} else {
		name, nameSize, uid, version, err = findJSON(message)
	}
	if err != nil {
		return m, err
	}
	m.Version, m.UID = uint32(version), uint32(uid)
	// The letters at the end of a name may change, or those before the number of the object.
	text := message[name : name+nameSize]
	at := len(bytes.TrimSuffix(text, []byte(strconv.Itoa(object)))) - renamed
	if at > 0 && bytes.IndexByte(text[at:at+renamed], '-') < 0 && bytes.IndexByte(text[at:at+renamed], '.') < 0 {
		m.Name = uint32(name + at)
	}
	return m, nil
}

// findProtobuf finds fields of the metadata, which is the first field of every object.
func findProtobuf(message []byte) (name, nameSize, uid, version int, err error) {
	field, _, n := protowire.ConsumeTag(message)
	if n < 0 || field != 1 {
		return 0, 0, 0, 0, fmt.Errorf("the first field is %d, not the metadata", field)
	}
	meta, size := protowire.ConsumeBytes(message[n:])
	if size < 0 {
		return 0, 0, 0, 0, protowire.ParseError(size)
	}
	for at := n + size - len(meta); len(meta) > 0; {
		field, kind, n := protowire.ConsumeTag(meta)
		if n < 0 {
			return 0, 0, 0, 0, protowire.ParseError(n)
		}
		all := protowire.ConsumeFieldValue(field, kind, meta[n:])
		if all < 0 {
			return 0, 0, 0, 0, protowire.ParseError(all)
		}
		if kind == protowire.BytesType {
			v, _ := protowire.ConsumeBytes(meta[n:])
			begin := at + n + all - len(v)
			switch field {
			case 1:
				name, nameSize = begin, len(v)
			case 5:
				uid = begin
			case 6:
				version = begin
			}
		}
		meta, at = meta[n+all:], at+n+all
	}
	return name, nameSize, uid, version, nil
}

func findJSON(message []byte) (name, nameSize, uid, version int, err error) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(message))
	for {
		token, err := dec.ReadToken()
		if err != nil {
			return 0, 0, 0, 0, err
		}
		if token.Kind() == '}' && dec.StackDepth() == 0 {
			return name, nameSize, uid, version, nil
		}
		if dec.StackDepth() != 2 || token.Kind() != '"' {
			continue
		}
		begin := int(dec.InputOffset()) - len(token.String()) - 1 // the text has no escapes
		switch dec.StackPointer() {
		case "/metadata/name":
			name, nameSize = begin, len(token.String())
		case "/metadata/uid":
			uid = begin
		case "/metadata/resourceVersion":
			version = begin
		}
	}
}

// rewrite returns a copy of a message with another version and incarnation.
func (m mark) rewrite(message []byte, object, life, version int) []byte {
	b := bytes.Clone(message)
	if m.Version > 0 {
		digits := strconv.Itoa(version)
		copy(b[m.Version:], digits)
	}
	if life == 0 {
		return b
	}
	// Any function of both that spreads its values would do.
	x := (uint64(object)<<32 | uint64(life)) * 0x9e3779b97f4a7c15
	if m.UID > 0 {
		var id [16]byte
		binary.BigEndian.PutUint64(id[:], x)
		binary.BigEndian.PutUint64(id[8:], x*0xbf58476d1ce4e5b9+1)
		copy(b[m.UID:], fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])[:uidSize])
	}
	if m.Name > 0 {
		for i, n := 0, object+life*7919; i < renamed; i, n = i+1, n/len(letters) {
			b[int(m.Name)+i] = letters[n%len(letters)]
		}
	}
	return b
}
