package store

import (
	"bytes"
	"errors"
	"fmt"
	"hash/maphash"
	"iter"
	"maps"
	"strings"
	"sync/atomic"
	"time"
	"unique"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
)

// Entry is one state of one object. It is immutable and needs no store: an update makes a new one,
// and an old one stays readable. Two reads of one state return different pointers; see
// [Entry.Same].
//
// An entry from a store holds the object packed, in about a hundred bytes. Everything except the
// key is read from them on demand.
type Entry struct {
	key    object.Key
	record record // from a store: with the packed object
	kind   *wire.Kind
	// template is what the object is packed against; nil means nothing.
	template *template
	// raw is the object as received, while it is in memory; nil means unpack it.
	raw      []byte
	header   atomic.Pointer[object.Header] // nil: not read yet
	rejected error
	// shown says that an index function may keep the entry.
	shown bool
	// lent is set if the record is memory of the store. The key is then made on demand.
	lent *loan
}

var (
	ownersSeed   = maphash.MakeSeed()
	errNamespace = errors.New("the namespace holds a zero byte")
)

// NewEntry scans the header of an object and keeps its bytes, which the entry owns from then on. An
// error means that the header could not be read.
func NewEntry(raw wire.Raw) (*Entry, error) {
	h, d, err := raw.Scan()
	if err != nil {
		return nil, err
	}
	if strings.IndexByte(h.Namespace, 0) >= 0 {
		return nil, &wire.DecodeError{Key: h.Key, Field: "metadata.namespace", Err: errNamespace}
	}
	// Queues keep keys for long; the rest of the header is short-lived. So keys get memory of their
	// own.
	h.Namespace, h.Name = unique.Make(h.Namespace).Value(), strings.Clone(h.Name)
	e := &Entry{key: h.Key, kind: raw.Kind, raw: raw.Bytes}
	digests := digest{d, digestOwners(h.Owners)}
	digests.shorten()
	e.record = newRecord(&h, raw.Encoding, digests)
	e.header.Store(&h)
	return e, nil
}

func digestOwners(owners []object.Owner) (sum uint64) {
	for i := range owners {
		sum = sum*31 + maphash.Comparable(ownersSeed, owners[i])
	}
	return sum
}

// Rejected makes an entry for a rejected object: it exists and cannot be used; cause says why. The
// header holds what is known of it, at least the key. Reads of the object return the cause. A new
// state of the object replaces the entry.
func Rejected(h object.Header, cause error) *Entry {
	e := &Entry{key: h.Key, rejected: cause}
	digests := digest{Owners: digestOwners(h.Owners)}
	digests.shorten()
	e.record = newRecord(&h, 0, digests)
	e.header.Store(&h)
	return e
}

// meta returns the record, parsed.
func (e *Entry) meta() meta { return e.record.meta(e.template) }

// Key returns the key of the object.
func (e *Entry) Key() object.Key {
	if e.lent != nil && e.key.Name == "" {
		e.key = keyString(e.record.key())
	}
	return e.key
}

// Kind returns the kind of the object; nil for a rejected entry.
func (e *Entry) Kind() *wire.Kind { return e.kind }

// UID returns the uid of the object.
func (e *Entry) UID() types.UID {
	if h := e.header.Load(); h != nil {
		return h.UID
	}
	m := e.meta()
	return m.uidText()
}

// ResourceVersion returns the resourceVersion of the object.
func (e *Entry) ResourceVersion() string {
	if h := e.header.Load(); h != nil {
		return h.ResourceVersion
	}
	m := e.meta()
	return m.versionText()
}

// Generation returns the generation of the object.
func (e *Entry) Generation() int64 { return e.meta().generation }

// Deleting reports whether deletion was requested and the object waits for its finalizers.
func (e *Entry) Deleting() bool { return e.record[0]&flagDeleting != 0 }

// Digest returns the digests of the object's parts. They tell whether parts of two states differ,
// without reading the object. They have 48 bits: two different parts have the same digest once in
// 10¹⁴ comparisons.
func (e *Entry) Digest() wire.Digest { return e.meta().digest.Digest }

// SameOwners reports whether two states of an object have the same owner references in the same
// order. It compares digests.
func (e *Entry) SameOwners(other *Entry) bool {
	return e.meta().digest.Owners == other.meta().digest.Owners
}

// Same reports whether two entries are one state of one object: equal key, uid, resourceVersion and
// digests, and both rejected or neither. Digests count because a server may show one version in two
// ways, as after a change of its defaults.
func (e *Entry) Same(other *Entry) bool {
	if e == other || e == nil || other == nil {
		return e == other
	}
	if e.Key() != other.Key() || (e.rejected != nil) != (other.rejected != nil) {
		return false
	}
	a, b := e.meta(), other.meta()
	const kinds = flagUUID | flagNumber
	return a.flags&kinds == b.flags&kinds && a.digest == b.digest && bytes.Equal(a.uid, b.uid) && bytes.Equal(a.version, b.version)
}

// SameUID reports whether two entries are of one incarnation of an object. An entry without a uid,
// as a rejected one may be, matches any.
func (e *Entry) SameUID(other *Entry) bool {
	a, b := e.meta(), other.meta()
	return sameUID(&a, &b)
}

// Header returns a copy of the metadata, which the caller owns. An entry that was not Put yet
// returns a shared one: read only. The first call on an entry from a store may have to unpack the
// object, which takes some microseconds. Label, Annotation, Selected, Owners and the like read one
// part without a copy.
func (e *Entry) Header() *object.Header {
	if h := e.header.Load(); h != nil && e.raw != nil && !e.shown {
		return h
	}
	own := new(struct { // one allocation: most objects have one owner
		object.Header
		owner [1]object.Owner
	})
	own.Header = e.metadata()
	own.Labels, own.Annotations = maps.Clone(own.Labels), maps.Clone(own.Annotations)
	if owners := own.Owners; owners != nil {
		own.Owners = append(own.owner[:0], owners...)
	}
	return &own.Header
}

// metadata returns the header with maps and owners that other objects may share: read only.
func (e *Entry) metadata() object.Header {
	if h := e.header.Load(); h != nil {
		return *h
	}
	m, p := e.meta(), e.template.parts()
	labels, one := p.labels.get(m.digest.Labels)
	annotations, two := p.annotations.get(m.digest.Annotations)
	owners, three := p.owners.get(m.digest.Owners)
	if !one || !two || !three {
		return *e.scan(&m)
	}
	h := object.Header{Key: e.Key(), Generation: m.generation, Labels: labels, Annotations: annotations, Owners: owners}
	h.UID, h.ResourceVersion = m.identity()
	if m.flags&flagDeleting != 0 {
		h.DeletionTimestamp = time.Unix(m.deletion, 0).UTC()
	}
	return h
}

// Labels returns a copy of the labels. Label and Selected need no copy.
func (e *Entry) Labels() map[string]string { return maps.Clone(e.labels()) }

// Label returns the value of a label, and whether the object has it.
func (e *Entry) Label(name string) (value string, ok bool) {
	value, ok = e.labels()[name]
	return value, ok
}

// Annotation returns the value of an annotation, and whether the object has it.
func (e *Entry) Annotation(name string) (value string, ok bool) {
	value, ok = e.annotations()[name]
	return value, ok
}

// Selected reports whether the labels match a selector.
func (e *Entry) Selected(by labels.Selector) bool { return by.Matches(readOnly{e.labels()}) }

// readOnly is the view of labels that selectors get.
type readOnly struct{ labels.Set }

// Owners yields the owner references, in the order of the object.
func (e *Entry) Owners() iter.Seq[object.Owner] {
	return func(yield func(object.Owner) bool) {
		for _, owner := range e.owners() {
			if !yield(owner) {
				return
			}
		}
	}
}

// labels returns shared labels: read only. So do annotations and owners. They mostly cost less than
// metadata.
func (e *Entry) labels() map[string]string {
	if h := e.header.Load(); h != nil {
		return h.Labels
	}
	m := e.meta()
	if labels, ok := e.template.parts().labels.get(m.digest.Labels); ok {
		return labels
	}
	return e.scan(&m).Labels
}

func (e *Entry) annotations() map[string]string {
	if h := e.header.Load(); h != nil {
		return h.Annotations
	}
	m := e.meta()
	if annotations, ok := e.template.parts().annotations.get(m.digest.Annotations); ok {
		return annotations
	}
	return e.scan(&m).Annotations
}

func (e *Entry) owners() []object.Owner {
	if h := e.header.Load(); h != nil {
		return h.Owners
	}
	m := e.meta()
	if owners, ok := e.template.parts().owners.get(m.digest.Owners); ok {
		return owners
	}
	return e.scan(&m).Owners
}

// scan reads the header once more, keeps it, and caches its parts in the template. The header was
// read before, so a failure is a panic.
func (e *Entry) scan(m *meta) *object.Header {
	var h object.Header
	err := e.Read(func(raw wire.Raw) (err error) {
		h, err = raw.Header()
		return err
	})
	if err != nil {
		panic(fmt.Sprintf("store: the header of %s cannot be read a second time: %v", e.Key(), err))
	}
	h.Key = e.Key()
	e.template.parts().cache(&m.digest, &h)
	e.header.Store(&h)
	return &h
}

// Err returns the cause of a rejection, or nil.
func (e *Entry) Err() error { return e.rejected }

// Decode writes the object into a value of the caller, who then owns all of it. For a rejected
// entry it returns the cause.
func (e *Entry) Decode(into object.Object) error {
	if e.rejected != nil {
		return e.rejected
	}
	if e.raw != nil || e.Size() <= wire.SmallObject {
		return e.Read(func(raw wire.Raw) error { return raw.Decode(into) })
	}
	m := e.meta()
	b, err := e.unpack(nil, &m)
	if err != nil {
		return err
	}
	return wire.Raw{Kind: e.kind, Encoding: m.encoding(), Bytes: b}.Checked().DecodeOwned(into)
}

// Raw returns the object as received: read only. It is empty for a rejected entry. An entry from a
// store unpacks the object in each call.
func (e *Entry) Raw() wire.Raw {
	if e.rejected != nil {
		return wire.Raw{}
	}
	m := e.meta()
	b := e.raw
	if b == nil {
		var err error
		if b, err = e.unpack(nil, &m); err != nil {
			panic(err)
		}
	}
	return wire.Raw{Kind: e.kind, Encoding: m.encoding(), Bytes: b}.Checked()
}

// unpack returns the bytes of the object, in dst if there is room.
func (e *Entry) unpack(dst []byte, m *meta) ([]byte, error) {
	b, err := e.template.unpack(dst, m)
	if err != nil {
		return nil, fmt.Errorf("store: the record of %s is damaged: %w", e.Key(), err)
	}
	return b, nil
}

// packed returns the same state with a record that holds the object, packed against t.
func (e *Entry) packed(r record, t *template) *Entry {
	p := &Entry{key: e.key, record: r, kind: e.kind, template: t}
	p.header.Store(e.header.Load())
	return p
}

// Compact returns the same state without cached values. Use it to hold many entries for long, or to
// keep a lent entry. Compact of nil is nil.
func (e *Entry) Compact() *Entry {
	if e != nil && e.lent != nil {
		return &Entry{key: e.Key(), record: bytes.Clone(e.record), kind: e.kind, template: e.template}
	}
	if e == nil || e.rejected != nil || e.raw == nil && e.header.Load() == nil {
		return e
	}
	if len(e.meta().object) == 0 {
		return e // it did not come from a store
	}
	return &Entry{key: e.key, record: e.record, kind: e.kind, template: e.template}
}
