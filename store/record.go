package store

import (
	"bytes"
	"cmp"
	"encoding/binary"
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
//	version   uvarint, or uvarint length and text
//	generation, deletion   varint each; the latter in seconds, if flagged
//	digests   a byte that says which ones follow, and 6 each; those of the template are not among them
//	labels    where they are not those of the template, if the same byte says so; see labels.go
//	owner     likewise; see owner.go
//	object    in the format of package pack, with all of the above as its known bytes; empty in a rejected entry
type record []byte

const (
	flagJSON   = 1 << iota
	flagUUID   // the uid is a UUID in lower case
	flagNumber // the version is a number without leading zeros
	flagDeleting
	flagDigest // a byte follows that says which digests follow
	flagLabels // the digest of the labels is that of the template
	flagAnnotations
	flagOwners
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
	labels     []byte // nil: the object has them, or the template
	owner      []byte // likewise
	object     []byte
}

// digest holds a hash of each part of an object, to detect changes. Each has 48 bits: two different
// parts are taken for equal once in 10¹⁴ comparisons.
type digest struct {
	wire.Digest
	Owners uint64
}

const (
	digestSize = 6

	// Among the bits that say which digests follow: these follow them.
	labelsFront = 1 << 6
	ownerFront  = 1 << 7
)

// shorten cuts the digests to 48 bits. None becomes 0.
func (d *digest) shorten() {
	for _, p := range d.parts() {
		if *p != 0 {
			*p = max(*p&(1<<(8*digestSize)-1), 1)
		}
	}
}

// common are the digests that many objects of a template share: of labels, annotations and owners.
type common [3]uint64

func (d *digest) common() common { return common{d.Labels, d.Annotations, d.Owners} }

// commonFlag is the flag that stands for a common digest.
func commonFlag(i int) byte { return flagLabels << i }

func (d *digest) parts() [6]*uint64 {
	return [6]*uint64{&d.Labels, &d.Annotations, &d.Spec, &d.Status, &d.Owners, &d.Rest}
}

// appendKey appends the sort key of an object key.
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

// newRecord returns the record of an object that is not packed yet.
func newRecord(h *object.Header, encoding wire.Encoding, d digest) record {
	m := meta{generation: h.Generation, digest: d}
	if encoding == wire.JSON {
		m.flags |= flagJSON
	}
	b := make([]byte, 0, 128+len(h.Namespace)+len(h.Name))
	b = appendKey(b, h.Key)
	m.key = b
	var version [binary.MaxVarintLen64]byte
	id, ok := parseUUID(string(h.UID))
	if m.uid = id[:]; ok {
		m.flags |= flagUUID
	} else {
		m.uid = []byte(h.UID)
	}
	if n, ok := parseVersion(h.ResourceVersion); ok {
		m.flags |= flagNumber
		m.version = version[:binary.PutUvarint(version[:], n)]
	} else {
		m.version = []byte(h.ResourceVersion)
	}
	if h.Deleting() {
		m.flags |= flagDeleting
		m.deletion = h.DeletionTimestamp.Unix()
	}
	return m.append(b[len(b):], nil)
}

// append appends a record without the object. It leaves out digests that t has, too; t may be nil.
func (m *meta) append(b []byte, t *template) record {
	at, d := len(b), m.digest
	flags := m.flags & (flagJSON | flagUUID | flagNumber | flagDeleting)
	if t != nil {
		for i, p := range [...]*uint64{&d.Labels, &d.Annotations, &d.Owners} {
			if *p != 0 && *p == t.common[i] {
				flags |= commonFlag(i)
				*p = 0
			}
		}
	}
	b = appendText(append(b, 0), m.key)
	if flags&flagUUID != 0 {
		b = append(b, m.uid...)
	} else {
		b = appendText(b, m.uid)
	}
	if flags&flagNumber != 0 {
		b = append(b, m.version...)
	} else {
		b = appendText(b, m.version)
	}
	b = binary.AppendVarint(b, m.generation)
	if flags&flagDeleting != 0 {
		b = binary.AppendVarint(b, m.deletion)
	}
	if d != (digest{}) || m.labels != nil || m.owner != nil {
		flags |= flagDigest
		mask := len(b)
		b = append(b, 0)
		for i, p := range d.parts() {
			if *p != 0 {
				b[mask] |= 1 << i
				b = binary.LittleEndian.AppendUint64(b, *p)[:len(b)+digestSize]
			}
		}
		if m.labels != nil {
			b[mask] |= labelsFront
			b = append(b, m.labels...)
		}
		if m.owner != nil {
			b[mask] |= ownerFront
			b = append(b, m.owner...)
		}
	}
	b[at] = flags
	return b
}

func appendText(b, s []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// key returns the sort key of the record.
func (r record) key() []byte {
	n, k := uint64(r[1]), 1
	if n >= 0x80 {
		n, k = binary.Uvarint(r[1:])
	}
	return r[1+k : 1+k+int(n)]
}

// meta returns the record, parsed. t is its template, or nil.
func (r record) meta(t *template) (m meta) {
	r.parse(&m, t)
	return m
}

// parse parses the record into m, which is empty.
func (r record) parse(m *meta, t *template) {
	m.flags = r[0]
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
		n := 1
		for b[n-1] >= 0x80 {
			n++
		}
		m.version, b = b[:n], b[n:]
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
				*p = uint64(binary.LittleEndian.Uint16(b[4:]))<<32 | uint64(binary.LittleEndian.Uint32(b))
				b = b[digestSize:]
			}
		}
		if mask&labelsFront != 0 {
			n := frontSize(b)
			m.labels, b = b[:n], b[n:]
		}
		if mask&ownerFront != 0 {
			n := ownerSize(b)
			m.owner, b = b[:n], b[n:]
		}
	}
	if t != nil && m.flags&(flagLabels|flagAnnotations|flagOwners) != 0 {
		for i, p := range [...]*uint64{&m.digest.Labels, &m.digest.Annotations, &m.digest.Owners} {
			if m.flags&commonFlag(i) != 0 {
				*p = t.common[i]
			}
		}
	}
	m.object = b
}

// size is the length of the object as received.
func (r record) size() int64 {
	m := r.meta(nil)
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
	return appendUUID(b, m.uid)
}

func (m *meta) appendVersion(b []byte) []byte {
	if m.flags&flagNumber == 0 {
		return append(b, m.version...)
	}
	n, _ := m.number()
	return strconv.AppendUint(b, n, 10)
}

// appendIdentity appends the bytes that are known of the object: labels, owner, name, namespace, uid and version.
// They precede it when it is packed.
func (m *meta) appendIdentity(b []byte) []byte {
	b = append(b, m.labels...)
	if m.owner != nil {
		b = m.appendOwnerUID(append(b, m.owner...))
	}
	namespace, name, _ := bytes.Cut(m.key, []byte{0})
	return m.appendVersion(m.appendUID(append(append(b, name...), namespace...)))
}

// number returns the version as a number, if it is one.
func (m *meta) number() (uint64, bool) {
	if m.flags&flagNumber != 0 {
		n, _ := binary.Uvarint(m.version)
		return n, true
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
