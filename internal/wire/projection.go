package wire

import (
	"errors"
	"fmt"
	"reflect"
	"sync"
	"unsafe"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/internal/decode"
	"github.com/flyball-io/flyball/internal/jsonscan"
)

// Projection reads the fields of an object that a Go struct has, and skips all others. The struct is
// called a view.
//
//	type podView struct {
//		Metadata struct {
//			Name   string
//			Labels map[string]string
//		}
//		Spec  struct{ NodeName string }
//		Phase corev1.PodPhase `field:"status.phase"`
//	}
//
// A field of a view is found by its JSON name: that of its json tag, or else its own name with a
// small letter in front. So NodeName is nodeName, UID is uid, APIVersion is apiVersion. The tag field
// gives a path instead, so that a view may be flat. A step of it may be the key of a map in brackets,
// as in metadata.labels[app]. The fields of an embedded struct count as fields of the outer struct. Fields
// with the tag json:"-" and unexported fields are left alone.
//
// The types of a view are these. The last line is only for kinds without a protobuf form:
//
//   - strings, booleans, numbers and []byte
//   - structs, slices, pointers, and maps whose keys are strings
//   - types of the Kubernetes API, such as metav1.ObjectMeta, corev1.PodSpec, metav1.Time, resource.Quantity
//   - json.RawMessage, any, and types with a method UnmarshalJSON
//
// A view cannot contain itself.
//
// A Projection is read-only and may be used by many goroutines.
type Projection struct {
	view       reflect.Type
	root       *viewNode
	proto      bool // the kind has a protobuf form
	kindFields []kindField
}

// kindField is a field of a view for the apiVersion or the kind.
type kindField struct {
	offset uintptr
	kind   bool // else the apiVersion
}

// CompileProjection compiles a view for a kind. kind is the Go type of the kind, see [Kind.GoType].
// It must have each field of the view, with a type whose values fit the field of the view. Numbers may be
// wider in the view. A pointer of the kind may be a plain value in the view: zero stands for nil. A pointer of
// the view must be a pointer in the kind. If kind is nil, nothing is checked, and only JSON can be read.
//
// The error is a *[ProjectionError].
func CompileProjection(kind, view reflect.Type) (*Projection, error) {
	if view != nil && view.Kind() == reflect.Pointer {
		view = view.Elem()
	}
	if kind != nil && kind.Kind() == reflect.Pointer {
		kind = kind.Elem()
	}
	if view == nil || view.Kind() != reflect.Struct {
		return nil, &ProjectionError{View: view, Kind: kind, Reason: "it is no struct"}
	}
	return projectionOf(kind, view)
}

// View is the Go type that the projection was compiled for.
func (p *Projection) View() reflect.Type { return p.view }

// Project reads a view of the object into the struct that into points to; see [Projection]. It replaces the
// whole struct. The caller owns it: it shares nothing with the bytes. One string of it keeps at most 512 bytes
// alive, or itself.
//
// The result equals that of decoding the whole object and copying its fields. A missing field and a null are
// zero. Names are case-sensitive. Of equal names the last one wins in JSON; protobuf fields are merged. Fields
// apiVersion and kind of a view are those of the kind. Fields that a view does not have are skipped unread.
//
// The view is compiled when it is first used with the Go type of a kind; see [CompileProjection] for the error.
// If into is nil or not a pointer to a struct, the error is a *[TypeError]. A bad object is a *[DecodeError]
// that names the field.
func (r Raw) Project(into any) error {
	if r.Kind == nil {
		return r.failed("", errNoKind)
	}
	p, err := r.Kind.Projection(into)
	if err != nil {
		return err
	}
	return p.Read(r, into)
}

// Projection returns the projection for the struct that view points to; see [Raw.Project]. It is compiled once.
// If view is not a pointer to a struct, the error is a *[TypeError].
func (k *Kind) Projection(view any) (*Projection, error) {
	t := reflect.TypeOf(view)
	if t == nil || t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct {
		return nil, Raw{Kind: k}.wrongType(view, "it is no pointer to a struct")
	}
	if p, ok := k.views.Load(t); ok {
		return p.(*Projection), nil
	}
	kind := k.GoType()
	if k.MetadataOnly {
		kind = reflect.TypeFor[metav1.PartialObjectMetadata]()
	}
	p, err := projectionOf(kind, t.Elem())
	if err == nil {
		k.views.Store(t, p)
	}
	return p, err
}

// Read is [Raw.Project] with this projection, which must have been made for the kind of r.
func (p *Projection) Read(r Raw, into any) error {
	v := reflect.ValueOf(into)
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Type().Elem() != p.view {
		return r.wrongType(into, "the projection is for "+p.view.String())
	}
	if r.Kind == nil {
		return r.failed("", errNoKind)
	}
	v.Elem().SetZero()
	at := v.UnsafePointer()
	d := viewReaders.Get().(*viewReader)
	err := p.fill(r, d, at)
	viewReaders.Put(d)
	if err != nil {
		field := ""
		if in, ok := err.(*fieldError); ok {
			field, err = in.path, in.err
		}
		return r.failed(field, err)
	}
	for _, f := range p.kindFields {
		apiVersion, kind := r.Kind.GVK.ToAPIVersionAndKind()
		if f.kind {
			apiVersion = kind
		}
		*(*string)(unsafe.Add(at, f.offset)) = apiVersion
	}
	return nil
}

// fill reads what the object holds into a zero value of the view. The error may be a *fieldError.
func (p *Projection) fill(r Raw, d *viewReader, into unsafe.Pointer) (err error) {
	d.Reader, d.distinct, d.hasLeft = r.reader(), r.distinct(), false
	switch {
	case r.Encoding == JSON:
		err = d.document(p.root, into)
	case r.Encoding == Protobuf && p.proto:
		err = p.root.readProto(d, r.Bytes, into)
	case r.Encoding == Protobuf:
		err = errors.New("protobuf is read through the Go type of the kind, and there is none with a protobuf form")
	default:
		err = errEncoding
	}
	d.B = nil
	return err
}

// viewReader is the state of one read of a view.
type viewReader struct {
	jsonscan.Reader      // JSON: of the document
	distinct        bool // no name occurs twice on the upper levels
	// mayLeave is set if a member of the document need not be read to its end. hasLeft is set if a read
	// stopped before the end.
	mayLeave, hasLeft bool
	lend              bool // strings are parts of the bytes, and lists reuse their memory
	texts             decode.Strings
}

var viewReaders = sync.Pool{New: func() any { return new(viewReader) }}

// keep returns b as a string. It is a copy, unless the reader lends.
func (d *viewReader) keep(b []byte) string {
	if d.lend {
		return unsafe.String(unsafe.SliceData(b), len(b))
	}
	return d.texts.Keep(b)
}

// fieldError names the field of an object that cannot be read.
type fieldError struct {
	path string
	err  error
}

func (e *fieldError) Error() string { return e.path + ": " + e.err.Error() }

// inField adds the field to an error, unless the error names a field already.
func inField(path string, err error) error {
	if _, ok := err.(*fieldError); ok {
		return err
	}
	return &fieldError{path, err}
}

// ProjectionError says why a view cannot be compiled for a kind.
type ProjectionError struct {
	// View is the Go type of the view, and Kind that of the kind; nil if it has none.
	View, Kind reflect.Type
	// Field is the wrong field of the view, by its Go names, such as "Spec.NodeName". It is empty if the
	// whole view is wrong.
	Field string
	// Path is the path of the field in the object, such as "spec.nodeName".
	Path string
	// Reason is for a person.
	Reason string
}

func (e *ProjectionError) Error() string {
	name := fmt.Sprint(e.View)
	if e.View != nil && e.View.Name() == "" && e.View.Kind() == reflect.Struct {
		name = "struct" // without all of its fields
	}
	if e.Field != "" {
		name += "." + e.Field
	}
	return "wire: view " + name + ": " + e.Reason
}

// compiledViews caches the compiled views.
var compiledViews sync.Map // kindView → compiled

type kindView struct{ kind, view reflect.Type }

// compiled is a view for one Go type, or why there is none.
type compiled struct {
	p   *Projection
	err error
}

func projectionOf(kind, view reflect.Type) (*Projection, error) {
	c, ok := compiledViews.Load(kindView{kind, view})
	if !ok {
		p, err := compileProjection(kind, view)
		c, _ = compiledViews.LoadOrStore(kindView{kind, view}, compiled{p, err})
	}
	return c.(compiled).p, c.(compiled).err
}
