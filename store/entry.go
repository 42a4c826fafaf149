package store

import (
	"bytes"
	"errors"
	"fmt"
	"hash/maphash"
	"iter"
	"maps"
	"reflect"
	"strings"
	"sync/atomic"
	"time"
	"unique"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
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
func (e *Entry) meta() meta {
	var room meta
	return *e.parsed(&room)
}

// parsed is meta without a copy: read only. It needs room, which is empty, unless the entry is lent.
func (e *Entry) parsed(room *meta) *meta {
	l := e.lent
	if l == nil {
		e.record.parse(room, e.template)
		return room
	}
	if !l.parsed {
		l.meta = meta{}
		e.record.parse(&l.meta, e.template)
		l.parsed = true
	}
	return &l.meta
}

// Key returns the key of the object.
func (e *Entry) Key() object.Key {
	if e.lent != nil && e.key.Name == "" {
		e.key = keyString(e.record.key())
	}
	return e.key
}

// GVK returns the kind of the object; empty for a rejected entry.
func (e *Entry) GVK() schema.GroupVersionKind {
	if e.kind == nil {
		return schema.GroupVersionKind{}
	}
	return e.kind.GVK
}

// UID returns the uid of the object.
func (e *Entry) UID() types.UID {
	if h := e.header.Load(); h != nil {
		return h.UID
	}
	var room meta
	return e.parsed(&room).uidText()
}

// ResourceVersion returns the resourceVersion of the object.
func (e *Entry) ResourceVersion() string {
	if h := e.header.Load(); h != nil {
		return h.ResourceVersion
	}
	var room meta
	return e.parsed(&room).versionText()
}

// Generation returns the generation of the object.
func (e *Entry) Generation() int64 {
	var room meta
	return e.parsed(&room).generation
}

// Deleting reports whether deletion was requested and the object waits for its finalizers.
func (e *Entry) Deleting() bool { return e.record[0]&flagDeleting != 0 }

// SameSpec reports whether two states of an object have the same spec. For an object without a spec, such as a ConfigMap
// or a Role, it compares all but the metadata and the status. For an object of metadata only it reports false.
//
// SameSpec, SameStatus, SameLabels, SameAnnotations and SameOwners compare digests of 48 bits, and do not read the
// object. Two different parts have the same digest once in 10¹⁴ comparisons. Two encodings of one value may differ.
func (e *Entry) SameSpec(other *Entry) bool {
	return other.sameContent(e.meta().digest.Spec, other.meta().digest.Spec)
}

// SameStatus reports whether two states of an object have the same status. See [Entry.SameSpec].
func (e *Entry) SameStatus(other *Entry) bool {
	return other.sameContent(e.meta().digest.Status, other.meta().digest.Status)
}

// sameContent compares digests of a part that objects of metadata only do not have.
func (e *Entry) sameContent(a, b uint64) bool {
	return a == b && (a != 0 || e.kind == nil || !e.kind.MetadataOnly)
}

// SameLabels reports whether two states of an object have the same labels. See [Entry.SameSpec].
func (e *Entry) SameLabels(other *Entry) bool {
	return e.meta().digest.Labels == other.meta().digest.Labels
}

// SameAnnotations reports whether two states of an object have the same annotations. See [Entry.SameSpec].
func (e *Entry) SameAnnotations(other *Entry) bool {
	return e.meta().digest.Annotations == other.meta().digest.Annotations
}

// SameOwners reports whether two states of an object have the same owner references in the same
// order. See [Entry.SameSpec].
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
// returns a shared one: read only. The first call on an entry from a store unpacks the object, which
// takes some microseconds, if it has annotations or several owners that nobody has read lately.
// Label, Annotation, Selected, Owners and the like read one part without a copy.
func (e *Entry) Header() *object.Header {
	if h := e.header.Load(); h != nil && e.raw != nil && !e.shown {
		return h
	}
	own := new(struct { // one allocation: most objects have one owner
		object.Header
		owner [1]object.Owner
	})
	var mine bool
	if own.Header, mine = e.metadata(); !mine {
		own.Labels = maps.Clone(own.Labels)
	}
	own.Annotations = maps.Clone(own.Annotations)
	if owners := own.Owners; owners != nil {
		own.Owners = append(own.owner[:0], owners...)
	}
	return &own.Header
}

// metadata returns the header with annotations and owners that other objects may share: read only. If own is set, the
// labels are the caller's.
func (e *Entry) metadata() (h object.Header, own bool) {
	if h := e.header.Load(); h != nil {
		return *h, false
	}
	m, p := e.meta(), e.template.parts()
	annotations, ok := p.annotations.get(m.digest.Annotations)
	owners, too := e.ownersOf(&m)
	var v labelView
	if !ok || !too || m.digest.Labels != 0 && !e.viewLabels(&m, &v) {
		return *e.scan(&m), false
	}
	h = object.Header{Key: e.Key(), Generation: m.generation, Labels: v.all(), Annotations: annotations, Owners: owners}
	h.UID, h.ResourceVersion = m.identity()
	if m.flags&flagDeleting != 0 {
		h.DeletionTimestamp = time.Unix(m.deletion, 0).UTC()
	}
	return h, true
}

// Labels returns a copy of the labels. Label and Selected need no copy.
func (e *Entry) Labels() map[string]string {
	labels, own := e.labels()
	if own {
		return labels
	}
	return maps.Clone(labels)
}

// Label returns the value of a label, and whether the object has it.
func (e *Entry) Label(name string) (value string, ok bool) {
	if e.header.Load() == nil {
		var room meta
		var v labelView
		if e.viewLabels(e.parsed(&room), &v) {
			return v.kept(name)
		}
	}
	labels, _ := e.labels()
	value, ok = labels[name]
	return value, ok
}

// Annotation returns the value of an annotation, and whether the object has it.
func (e *Entry) Annotation(name string) (value string, ok bool) {
	value, ok = e.annotations()[name]
	return value, ok
}

// Selected reports whether the labels match a selector.
func (e *Entry) Selected(by labels.Selector) bool {
	if e.header.Load() == nil && reflect.TypeOf(by) == usualSelector {
		l := e.lent
		if l == nil {
			l = loans.Get().(*loan)
			defer l.end()
		}
		var room meta
		if e.viewLabels(e.parsed(&room), &l.view) {
			return by.Matches(&l.view)
		}
	}
	labels, _ := e.labels()
	return by.Matches(readOnly{labels})
}

// usualSelector is the type of selectors that keep nothing of the labels.
var usualSelector = reflect.TypeOf(labels.NewSelector())

// readOnly is the view of labels that selectors get.
type readOnly struct{ labels.Set }

// Owners yields the owner references, in the order of the object.
func (e *Entry) Owners() iter.Seq[object.Owner] {
	return func(yield func(object.Owner) bool) {
		if e.header.Load() == nil {
			var room meta
			if o, ok := e.viewOwner(e.parsed(&room)); ok {
				yield(o)
				return
			}
		}
		for _, owner := range e.owners() {
			if !yield(owner) {
				return
			}
		}
	}
}

// labels returns labels that are shared and read only, unless own is set. Annotations and owners are always shared. They
// mostly cost less than metadata.
func (e *Entry) labels() (labels map[string]string, own bool) {
	if h := e.header.Load(); h != nil {
		return h.Labels, false
	}
	m := e.meta()
	var v labelView
	if m.digest.Labels != 0 && !e.viewLabels(&m, &v) {
		return e.scan(&m).Labels, false
	}
	return v.all(), true
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
	if owners, ok := e.ownersOf(&m); ok {
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
