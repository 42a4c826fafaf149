package wire

import (
	"reflect"
	"strings"
	"sync"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/internal/gofield"
	"github.com/flyball-io/flyball/internal/jsonscan"
)

// Encoding is how the bytes of an object are written.
type Encoding uint8

const (
	// JSON is the encoding of custom resources, and of other kinds on request.
	JSON Encoding = iota + 1
	// Protobuf is the message of a built-in kind, without the envelope that carries its kind.
	Protobuf
)

func (e Encoding) String() string {
	switch e {
	case JSON:
		return "json"
	case Protobuf:
		return "protobuf"
	}
	return "unknown encoding"
}

// Kind is the kind of the objects of a list or watch. They share one Kind, which must not change.
type Kind struct {
	GVK schema.GroupVersionKind
	// Scheme has the Go type of the kind, if there is one. Reading protobuf into an unstructured object needs
	// it. It may be nil otherwise; then only the name of a Go type is checked.
	Scheme *runtime.Scheme
	// MetadataOnly says that the server was asked for PartialObjectMetadata of this kind. Such
	// objects are decoded into *metav1.PartialObjectMetadata or *unstructured.Unstructured; a typed
	// object would look complete and be empty.
	MetadataOnly bool

	partsOnce  sync.Once
	knownParts parts
	views      sync.Map // reflect.Type of a pointer to a view → *Projection

	// listKind is the kind of a list that had items of this kind, where it has a name of its own.
	listKind atomic.Pointer[string]

	// repeats is set by the first JSON object that may have a duplicate member, at its top level or in one of
	// its members. API servers send none. While it is false, a lookup ends at the first member of a name.
	repeats atomic.Bool
}

// Same reports whether k and other say the same of objects. Both may be nil.
func (k *Kind) Same(other *Kind) bool {
	if k == other || k == nil || other == nil {
		return k == other
	}
	return k.GVK == other.GVK && k.Scheme == other.Scheme && k.MetadataOnly == other.MetadataOnly && k.repeats.Load() == other.repeats.Load()
}

// GoType is the struct type that the scheme has for the kind, or nil.
func (k *Kind) GoType() reflect.Type {
	if k.Scheme == nil {
		return nil
	}
	return k.Scheme.AllKnownTypes()[k.GVK]
}

// is reports whether an object that says it is of this apiVersion and kind may be one of k.
func (k *Kind) is(apiVersion, kind string) bool {
	if kind == k.GVK.Kind && sameVersion(k.GVK, apiVersion) {
		return true
	}
	return k.MetadataOnly && kind == "PartialObjectMetadata" && isMetaVersion(apiVersion)
}

// isList reports whether an answer of this apiVersion and kind is a list of k: by its name, by an earlier list
// of this name, or by the scheme. mayBe reports that only the items can decide: a custom resource definition may
// give its list any name.
func (k *Kind) isList(apiVersion, kind string) (is, mayBe bool) {
	if k.MetadataOnly && isMetadataList(apiVersion, kind) {
		return true, false
	}
	if !sameVersion(k.GVK, apiVersion) {
		return false, false
	}
	if list, ok := strings.CutSuffix(kind, "List"); ok && list == k.GVK.Kind {
		return true, false
	}
	if known := k.listKind.Load(); known != nil && *known == kind || k.listsByScheme(kind) {
		return true, false
	}
	return false, kind != "" && kind != k.GVK.Kind && k.GoType() == nil
}

// listItems returns the field of the items of a list type of this kind, if the scheme has one.
func (k *Kind) listItems(kind string) (items reflect.StructField, ok bool) {
	if k.GoType() == nil {
		return items, false
	}
	list := k.Scheme.AllKnownTypes()[k.GVK.GroupVersion().WithKind(kind)]
	if list == nil || list.Kind() != reflect.Struct {
		return items, false
	}
	return list.FieldByName("Items")
}

// listsByScheme reports whether the scheme has a list type of this kind that holds the Go type of k.
func (k *Kind) listsByScheme(kind string) bool {
	items, ok := k.listItems(kind)
	return ok && items.Type.Kind() == reflect.Slice && items.Type.Elem() == k.GoType()
}

// mayOmitItems reports whether a JSON list of this kind may have no items: its Go type omits empty ones.
func (k *Kind) mayOmitItems(kind string) bool {
	items, ok := k.listItems(kind)
	tag := gofield.TagOf(items.Tag)
	return ok && (tag.OmitEmpty || tag.OmitZero)
}

// listGVK returns the usual kind of a list of k.
func (k *Kind) listGVK() schema.GroupVersionKind {
	return k.GVK.GroupVersion().WithKind(k.GVK.Kind + "List")
}

func sameVersion(gvk schema.GroupVersionKind, apiVersion string) bool {
	if gvk.Group == "" {
		return apiVersion == gvk.Version
	}
	n := len(gvk.Group)
	return len(apiVersion) == n+1+len(gvk.Version) && apiVersion[:n] == gvk.Group && apiVersion[n] == '/' && apiVersion[n+1:] == gvk.Version
}

func isMetaVersion(apiVersion string) bool {
	return strings.HasPrefix(apiVersion, metav1.GroupName+"/")
}

func isMetadataList(apiVersion, kind string) bool {
	return kind == "PartialObjectMetadataList" && isMetaVersion(apiVersion)
}

func isStatus(apiVersion, kind string) bool { return kind == "Status" && apiVersion == "v1" }

// Raw is one encoded object. The bytes must not be changed. The function that returns a Raw says how long they
// are valid.
type Raw struct {
	Kind     *Kind
	Encoding Encoding
	Bytes    []byte

	checked bool // JSON: the syntax has been checked
	long    jsonscan.Spans
}

// Checked returns r for bytes of the same Kind that a parser of this package or [Raw.Scan] has checked before.
// The syntax of their JSON is not checked at each use. For other bytes the results are undefined, but nothing
// panics.
func (r Raw) Checked() Raw {
	r.checked = true
	return r
}

// Clone returns r with a copy of the bytes.
func (r Raw) Clone() Raw {
	r.Bytes = append(make([]byte, 0, len(r.Bytes)), r.Bytes...)
	return r
}

// check checks that the bytes are one JSON value, with space around it, and returns r as checked.
func (r Raw) check() (Raw, error) {
	if r.checked {
		return r, nil
	}
	long, repeats, err := jsonscan.Check(r.Bytes)
	if err != nil {
		return r, err
	}
	return r.known(long, repeats), nil
}

// known returns r as checked, with the results of the checker.
func (r Raw) known(long jsonscan.Spans, repeats bool) Raw {
	r.checked, r.long = true, long
	if repeats && r.Kind != nil {
		r.Kind.repeats.Store(true)
	}
	return r
}

// distinct reports whether the names of the members of the object are known to differ, and those of the members
// of each member. The objects of a store were checked before; see [Raw.Checked].
func (r Raw) distinct() bool { return r.checked && r.Kind != nil && !r.Kind.repeats.Load() }

// reader returns a reader of the JSON of r.
func (r Raw) reader() jsonscan.Reader { return jsonscan.Reader{B: r.Bytes, Long: r.long} }
