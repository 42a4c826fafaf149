package store

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"unsafe"

	"github.com/flyball-io/flyball/object"
)

// Labels lie in front of the packed object, so that a selector reads no object. Those of the object that a template was
// made of lie in the template, too, once another object has the same. They are written as they differ from the usual ones
// of their shape.
//
//	which    uvarint, a bit for each key that has another value
//	value    for each of them: 0 is the name of the object, 1 … 64 a text of as many bytes less one, 65 the value of an
//	         earlier key, whose number follows, 66 … 255 an often value
const (
	isName    = 0
	maxText   = 63 // the longest value that Kubernetes permits
	isSame    = maxText + 2
	isOften   = isSame + 1
	maxOften  = 256 - isOften
	maxLabels = 64
	maxFront  = 255 // bytes of all

	maxValueSightings = 1 << 10
)

// labelShape is what the labels of a shape have in common. The writer replaces it when it grows: what it has stays.
type labelShape struct {
	keys   []string // sorted
	usual  []string // a value for each key
	often  []string // values that several objects have
	memory int64    // bytes
}

// labeling has the labels of a shape. It belongs to a template, and serves those that are derived from it.
type labeling struct {
	shape atomic.Pointer[labelShape]
	seen  sightings // values, by the writer
	owner *template // whose memory it counts to; nil if that has gone
}

func newLabeling(of map[string]string, owner *template) *labeling {
	s := &labelShape{keys: slices.Sorted(maps.Keys(of))}
	for i, k := range s.keys {
		s.keys[i] = strings.Clone(k)
		s.add(&s.usual, of[k])
	}
	l := &labeling{owner: owner}
	l.shape.Store(s)
	return l
}

// add adds a copy of a value to a list.
func (s *labelShape) add(list *[]string, value string) {
	*list = append(*list, strings.Clone(value))
	s.memory += int64(len(value)) + int64(unsafe.Sizeof(value))
}

// putLabels puts the labels of an object in front of it, or sees to it that its template has them.
func (p *packing) putLabels(m *meta, t *template, made bool, h *object.Header) {
	if len(h.Labels) == 0 {
		return
	}
	if made || m.digest.Labels != t.common[0] {
		if m.labels = p.front(p.labels[:0], t, h.Labels, h.Name); m.labels != nil {
			p.labels = m.labels
		}
		return
	}
	if t.front.Load() != nil {
		return
	}
	if b := p.front(p.labels[:0], t, h.Labels, noName); b != nil {
		was, front := t.held(), string(b)
		t.front.Store(&front)
		p.grown(t, was)
		p.labels = b
	}
}

// noName is the name of no object.
const noName = "/"

// front returns the labels of an object in the form above; nil if they do not fit it. It appends to b.
func (p *packing) front(b []byte, t *template, of map[string]string, name string) []byte {
	l := p.labelingOf(t, of)
	s := l.shape.Load()
	if len(of) != len(s.keys) || len(of) > maxLabels {
		return nil
	}
	var which uint64
	for i, k := range s.keys {
		switch v, ok := of[k]; {
		case !ok:
			return nil // the hash of the keys is the same by chance
		case v != s.usual[i]:
			which |= 1 << i
		}
	}
	start := len(b)
	b = binary.AppendUvarint(b, which)
	for i, k := range s.keys {
		if which&(1<<i) == 0 {
			continue
		}
		at := len(b)
		if b = p.appendValue(b, l, of[k], name); b == nil {
			return nil
		}
		if same := slices.IndexFunc(s.keys[:i], func(other string) bool { return of[other] == of[k] }); same >= 0 && len(b)-at > 2 {
			b = append(b[:at], isSame, byte(same))
		}
	}
	if len(b)-start > maxFront {
		return nil
	}
	return b
}

// appendValue appends a value of an object; nil: it is too long.
func (p *packing) appendValue(b []byte, l *labeling, v, name string) []byte {
	if v == name {
		return append(b, isName)
	}
	if at := p.often(l, v, name); at >= 0 {
		return append(b, byte(isOften+at))
	}
	if len(v) > maxText {
		return nil
	}
	return append(append(b, byte(len(v)+1)), v...)
}

// labelingOf returns that of a template, which may be that of its parent. It makes one of these labels if need be.
func (p *packing) labelingOf(t *template, of map[string]string) *labeling {
	l := t.labels.Load()
	if l != nil {
		return l
	}
	was := t.held()
	if parent := t.body.Load().parent; parent != nil && parent != nothing {
		l = p.labelingOf(parent, of)
	} else {
		l = newLabeling(of, t)
	}
	t.labels.Store(l)
	p.grown(t, was)
	return l
}

// often returns the place of a value that several objects have; -1 if it is not known as one.
func (p *packing) often(l *labeling, v, object string) int {
	s := l.shape.Load()
	if at := slices.Index(s.often, v); at >= 0 {
		return at
	}
	if len(s.often) == maxOften {
		return -1
	}
	if t := l.owner; t != nil {
		was := t.held()
		defer func() { p.grown(t, was) }() // also if only the sightings have grown
	}
	if !l.seen.other(maphash.String(groupSeed, v), maphash.String(groupSeed, object), maxValueSightings) {
		return -1
	}
	grown := *s
	grown.add(&grown.often, v) // readers of s do not look beyond its length
	l.shape.Store(&grown)
	return len(s.often)
}

// grown counts the memory of a template that has held less before.
func (p *packing) grown(t *template, was int64) {
	if t.id != 0 {
		p.held += t.held() - was
	}
}

// frontSize returns how many bytes of b are labels.
func frontSize(b []byte) int {
	which, n := binary.Uvarint(b)
	for ; which != 0; which &= which - 1 {
		n += valueSize(b[n:])
	}
	return n
}

// valueSize returns how many bytes of b are a value.
func valueSize(b []byte) int {
	switch c := int(b[0]); {
	case c == isSame:
		return 2
	case c > isName && c < isSame:
		return c
	}
	return 1
}

// labelView shows the labels in the front of a record. It is a labels.Labels whose texts lie in the record.
type labelView struct {
	shape *labelShape
	front []byte
	name  []byte
}

// value returns the i-th value. If it is lent it lies in the record.
func (v *labelView) value(i int) (value string, lent bool) {
	which, n := binary.Uvarint(v.front)
	if which&(1<<i) == 0 {
		return v.shape.usual[i], false
	}
	b := v.front[n:]
	for which &= 1<<i - 1; which != 0; which &= which - 1 {
		b = b[valueSize(b):]
	}
	if b[0] == isSame {
		return v.value(int(b[1]))
	}
	return v.shape.value(b, v.name)
}

// value returns the value that b begins with. If it is lent, it lies in b or in the name of the object.
func (s *labelShape) value(b, name []byte) (value string, lent bool) {
	text := name
	switch c := int(b[0]); {
	case c >= isOften:
		return s.often[c-isOften], false
	case c > isName:
		text = b[1:c]
	}
	return unsafe.String(unsafe.SliceData(text), len(text)), true
}

func (v *labelView) Lookup(key string) (string, bool) {
	i := slices.Index(v.shape.keys, key)
	if i < 0 {
		return "", false
	}
	value, _ := v.value(i)
	return value, true
}

func (v *labelView) Has(key string) bool { return slices.Contains(v.shape.keys, key) }

func (v *labelView) Get(key string) string {
	value, _ := v.Lookup(key)
	return value
}

// kept is Lookup for a value that the caller may keep.
func (v *labelView) kept(key string) (string, bool) {
	i := slices.Index(v.shape.keys, key)
	if i < 0 {
		return "", false
	}
	return v.keptAt(i), true
}

func (v *labelView) keptAt(i int) string {
	value, lent := v.value(i)
	if lent {
		return strings.Clone(value)
	}
	return value
}

// all returns the labels as a map of the caller; nil for an empty view.
func (v *labelView) all() map[string]string {
	if v.shape == nil {
		return nil
	}
	out := make(map[string]string, len(v.shape.keys))
	for i, k := range v.shape.keys {
		out[k] = v.keptAt(i)
	}
	return out
}

// viewLabels sets v to the labels in front of a record, or of its template, if they are there.
func (e *Entry) viewLabels(m *meta, v *labelView) bool {
	t := e.template
	if t == nil {
		return false
	}
	l, front := t.labels.Load(), m.labels
	if front == nil && m.flags&flagLabels != 0 {
		if f := t.front.Load(); f != nil {
			front = unsafe.Slice(unsafe.StringData(*f), len(*f))
		}
	}
	if l == nil || front == nil {
		return false
	}
	*v = labelView{l.shape.Load(), front, m.key[bytes.IndexByte(m.key, 0)+1:]}
	return true
}
