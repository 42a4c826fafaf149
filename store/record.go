package store

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/flyball-io/flyball/internal/pack"
	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
)

// A record is an entry in bytes, without pointers: the fields read most, then the packed object.
//
//	flags     1
//	key       uvarint length, then namespace, 0, name: the order of these bytes is that of keys
//	uid       16, or uvarint length and text
//	version   8, or uvarint length and text
//	generation, deletion   varint each; the latter in seconds, if flagged
//	digests   8 each of those that are flagged
//	object    in the format of package pack; empty in a rejected entry
type record []byte

const (
	flagJSON   = 1 << iota
	flagUUID   // the uid is a UUID in lower case
	flagNumber // the version is a number without leading zeros
	flagDeleting
	flagDigest // a byte follows that says which digests are not zero
)

// meta is the front of a record, parsed. Its slices are parts of the record.
type meta struct {
	flags      byte
	key        []byte
	uid        []byte
	version    []byte
	generation int64
	deletion   int64
	digest     digest
	object     []byte
}

// digest holds a hash of each part of an object, to detect changes.
type digest struct {
	wire.Digest
	Owners uint64
}

func (d *digest) parts() [6]*uint64 {
	return [6]*uint64{&d.Labels, &d.Annotations, &d.Spec, &d.Status, &d.Owners, &d.Rest}
}

// appendKey appends the bytes by which keys are sorted.
func appendKey(b []byte, k object.Key) []byte {
	b = append(b, k.Namespace...)
	b = append(b, 0)
	return append(b, k.Name...)
}

// keyString is the inverse of appendKey: namespace and name share one string.
func keyString(b []byte) object.Key {
	ns, name, _ := strings.Cut(string(b), "\x00")
	return object.Key{Namespace: ns, Name: name}
}

// appendRecord appends the front of the record of an object.
func appendRecord(b []byte, h *object.Header, encoding wire.Encoding, d digest) record {
	at := len(b)
	b = append(b, 0)
	var flags byte
	if encoding == wire.JSON {
		flags |= flagJSON
	}
	b = binary.AppendUvarint(b, uint64(len(h.Namespace)+1+len(h.Name)))
	b = appendKey(b, h.Key)
	if id, ok := parseUUID(string(h.UID)); ok {
		flags |= flagUUID
		b = append(b, id[:]...)
	} else {
		b = appendText(b, string(h.UID))
	}
	if n, ok := parseVersion(h.ResourceVersion); ok {
		flags |= flagNumber
		b = binary.LittleEndian.AppendUint64(b, n)
	} else {
		b = appendText(b, h.ResourceVersion)
	}
	b = binary.AppendVarint(b, h.Generation)
	if h.Deleting() {
		flags |= flagDeleting
		b = binary.AppendVarint(b, h.DeletionTimestamp.Unix())
	}
	if d != (digest{}) {
		flags |= flagDigest
		mask := len(b)
		b = append(b, 0)
		for i, p := range d.parts() {
			if *p != 0 {
				b[mask] |= 1 << i
				b = binary.LittleEndian.AppendUint64(b, *p)
			}
		}
	}
	b[at] = flags
	return b
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// key returns the bytes by which the record is sorted.
func (r record) key() []byte {
	n, k := uint64(r[1]), 1
	if n >= 0x80 {
		n, k = binary.Uvarint(r[1:])
	}
	return r[1+k : 1+k+int(n)]
}

// meta parses the record.
func (r record) meta() meta {
	m := meta{flags: r[0]}
	b := []byte(r[1:])
	text := func() []byte {
		n, k := binary.Uvarint(b)
		s := b[k : k+int(n)]
		b = b[k+int(n):]
		return s
	}
	number := func() int64 {
		v, k := binary.Varint(b)
		b = b[k:]
		return v
	}
	m.key = text()
	if m.flags&flagUUID != 0 {
		m.uid, b = b[:16], b[16:]
	} else {
		m.uid = text()
	}
	if m.flags&flagNumber != 0 {
		m.version, b = b[:8], b[8:]
	} else {
		m.version = text()
	}
	m.generation = number()
	m.deletion = math.MinInt64
	if m.flags&flagDeleting != 0 {
		m.deletion = number()
	}
	if m.flags&flagDigest != 0 {
		mask := b[0]
		b = b[1:]
		for i, p := range m.digest.parts() {
			if mask&(1<<i) != 0 {
				*p = binary.LittleEndian.Uint64(b)
				b = b[8:]
			}
		}
	}
	m.object = b
	return m
}

// front returns the record without the object.
func (r record) front() record {
	m := r.meta()
	return r[:len(r)-len(m.object)]
}

// size is the length of the object as received.
func (r record) size() int64 {
	m := r.meta()
	if len(m.object) == 0 {
		return 0
	}
	n, err := pack.Size(m.object)
	if err != nil {
		panic(fmt.Errorf("store: the record of %s is damaged: %w", keyString(m.key), err))
	}
	return int64(n)
}

func (m *meta) encoding() wire.Encoding {
	if m.flags&flagJSON != 0 {
		return wire.JSON
	}
	return wire.Protobuf
}

func (m *meta) uidText() types.UID {
	var room [36]byte
	return types.UID(m.appendUID(room[:0]))
}

func (m *meta) versionText() string {
	var room [20]byte
	return string(m.appendVersion(room[:0]))
}

// identity returns uid and version, in one allocation.
func (m *meta) identity() (types.UID, string) {
	var room [56]byte
	b := m.appendUID(room[:0])
	n := len(b)
	both := string(m.appendVersion(b))
	return types.UID(both[:n]), both[n:]
}

func (m *meta) appendUID(b []byte) []byte {
	if m.flags&flagUUID == 0 {
		return append(b, m.uid...)
	}
	from := 0
	for i, n := range [...]int{4, 2, 2, 2, 6} {
		if i > 0 {
			b = append(b, '-')
		}
		b = hex.AppendEncode(b, m.uid[from:from+n])
		from += n
	}
	return b
}

func (m *meta) appendVersion(b []byte) []byte {
	if m.flags&flagNumber == 0 {
		return append(b, m.version...)
	}
	return strconv.AppendUint(b, binary.LittleEndian.Uint64(m.version), 10)
}

// number returns the version as a number, if it is one.
func (m *meta) number() (uint64, bool) {
	if m.flags&flagNumber != 0 {
		return binary.LittleEndian.Uint64(m.version), true
	}
	n, err := strconv.ParseUint(string(m.version), 10, 64)
	return n, err == nil
}

// parseVersion reads a decimal number without leading zeros.
func parseVersion(s string) (uint64, bool) {
	if s == "" || s[0] == '0' && len(s) > 1 {
		return 0, false
	}
	n, err := strconv.ParseUint(s, 10, 64)
	return n, err == nil
}

// parseUUID reads a UUID in lower case.
func parseUUID(s string) (id [16]byte, ok bool) {
	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return id, false
	}
	n := 0
	for i := 0; i < len(s); {
		if i == 8 || i == 13 || i == 18 || i == 23 {
			i++
			continue
		}
		hi, lo := digitOf(s[i]), digitOf(s[i+1])
		if hi > 15 || lo > 15 {
			return id, false
		}
		id[n] = hi<<4 | lo
		n++
		i += 2
	}
	return id, true
}

func digitOf(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return c - '0'
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10
	}
	return 255
}

// version is a resourceVersion that others are compared with.
type version struct {
	number   uint64
	isNumber bool
	some     bool
}

// raise takes over the version of m if it is a higher number. Without a number it keeps the first.
func (v *version) raise(m *meta) {
	n, ok := m.number()
	if ok && (!v.some || v.isNumber && n > v.number) || !ok && !v.some {
		*v = version{n, ok, true}
	}
}

// covers reports whether v is certainly not older than the version of m.
func (v *version) covers(m *meta) bool {
	n, ok := m.number()
	return ok && v.isNumber && n <= v.number
}

// compareVersions is object.CompareVersions.
func compareVersions(a, b *meta) (order int, ok bool) {
	x, isX := a.number()
	y, isY := b.number()
	return cmp.Compare(x, y), isX && isY
}

// sameUID is object.Header.Same.
func sameUID(a, b *meta) bool {
	return len(a.uid) == 0 || len(b.uid) == 0 || a.flags&flagUUID == b.flags&flagUUID && bytes.Equal(a.uid, b.uid)
}
