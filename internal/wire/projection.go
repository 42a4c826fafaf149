package wire

import (
	"errors"
	"fmt"
	"reflect"
	"sync"
	"unsafe"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/internal/jsonscan"
)

// Projection reads a few fields of an object, without the rest: those that a Go struct has, which
// is called a view.
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
// as in metadata.labels[app]. Embedded structs are part of the struct they stand in. What has the tag
// json:"-" and what is not exported stays as it is made.
//
// The types of a view are these, and those of a kind that is never protobuf the last ones, too:
//
//   - strings, booleans, numbers and []byte
//   - structs, slices, pointers, and maps whose keys are strings
//   - types of the API, such as metav1.ObjectMeta, corev1.PodSpec, metav1.Time, resource.Quantity
//   - json.RawMessage, any, and what has an UnmarshalJSON
//
// A view cannot contain itself.
//
// A Projection is read-only and may be used by many goroutines.
type Projection struct {
	view  reflect.Type
	json  *jsonNode
	proto *protoNode // nil: the kind has no protobuf form
	said  []saidField
}

// saidField is a field of a view for what every object says of its kind.
type saidField struct {
	offset uintptr
	kind   bool // else the apiVersion
}

// CompileProjection compiles a view for a kind. kind is the Go type of the kind, see [Kind.GoType].
// It must have each field of the view, of a type that the one of the view can hold. Numbers may be
// wider in the view. What is a pointer may be none, which is then zero where nothing is. A pointer is
// refused where the kind has none. If kind is nil, nothing is checked, and only JSON can be read.
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

// Project reads a view of the object: into points to a struct, see [Projection], all of which is
// replaced. Afterwards the caller owns it: nothing is shared with the bytes. What one string of it
// keeps alive is at most 512 bytes, or the string itself.
//
// A view holds what decoding the whole object and copying its fields gives: what is not there is
// zero, and so is a null. The names are case-sensitive; where names are equal, the last one wins in
// JSON, and protobuf fields are merged. Fields apiVersion and kind of a view are those of the kind.
// The fields that a view does not have are passed over without looking at what they hold.
//
// The view is compiled when it is first used with the Go type of a kind; see [CompileProjection]
// for the error. A nil pointer and no pointer to a struct are a *[TypeError]; what is wrong with
// the object is a *[DecodeError] that names the field.
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

// Projection is the one for the struct that view points to; see [Raw.Project]. It is compiled once.
// What is no pointer to a struct is a *[TypeError].
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
	for _, f := range p.said {
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
		err = d.document(p.json, into)
	case r.Encoding == Protobuf && p.proto != nil:
		err = p.proto.read(d, r.Bytes, into)
	case r.Encoding == Protobuf:
		err = errors.New("protobuf is read through the Go type of the kind, and there is none with a protobuf form")
	default:
		err = errEncoding
	}
	d.B = nil
	return err
}

// viewReader is what one read of a view needs.
type viewReader struct {
	jsonscan.Reader      // JSON: of the document
	distinct        bool // names do not come twice on the upper levels
	// mayLeave says that a member of the document need not be read to its end, hasLeft that it was not.
	mayLeave, hasLeft bool
	lend              bool   // strings are parts of the bytes, and lists reuse their room
	text              []byte // memory for short strings, of which views share pieces
}

var viewReaders = sync.Pool{New: func() any { return new(viewReader) }}

const (
	textPiece = 512
	longText  = 128
)

// keep makes a string of b that shares nothing with it, unless the reader lends.
func (d *viewReader) keep(b []byte) string {
	if d.lend {
		return unsafe.String(unsafe.SliceData(b), len(b))
	}
	if len(b) >= longText {
		return string(b)
	}
	if len(b) == 0 {
		return ""
	}
	if cap(d.text)-len(d.text) < len(b) {
		d.text = make([]byte, 0, textPiece)
	}
	n := len(d.text)
	d.text = append(d.text, b...)
	return unsafe.String(&d.text[n], len(b))
}

// fieldError says in which field of an object something is wrong.
type fieldError struct {
	path string
	err  error
}

func (e *fieldError) Error() string { return e.path + ": " + e.err.Error() }

// inField names the field of an error, unless one farther in has been named.
func inField(path string, err error) error {
	if _, ok := err.(*fieldError); ok {
		return err
	}
	return &fieldError{path, err}
}

// ProjectionError says why a view cannot be compiled for a kind.
type ProjectionError struct {
	// View is the Go type of the view, Kind that of the kind; nil where it has none.
	View, Kind reflect.Type
	// Field is the field of the view that is wrong by its Go names, such as "Spec.NodeName"; it is
	// empty if the view as a whole is.
	Field string
	// Path is where in the object the field was looked for, such as "spec.nodeName".
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

// compiledViews has what was compiled so far.
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
