package decode

import (
	"reflect"
	"sync"
	"unicode/utf8"
	"unsafe"

	"sigs.k8s.io/json"
)

// JSON decodes a document into the value that into points to, as apimachinery does: names are
// matched by case, whole numbers stay whole in values of any type, fields that the type does not
// have are passed over, and so are nulls that it cannot hold. into must point to a zero value.
// Nothing of b is kept.
//
// The errors are those of sigs.k8s.io/json.
func JSON(b []byte, into any) error { return decodeJSON(b, into, false) }

// JSONOwned is [JSON] for bytes that nobody else uses: they belong to the value from now on, also
// if there is an error, and its strings are cut from them.
//
// What is kept of the value keeps at most 16 KiB of b alive, or eight times its own length.
func JSONOwned(b []byte, into any) error { return decodeJSON(b, into, true) }

func decodeJSON(b []byte, into any, owned bool) error {
	v := reflect.ValueOf(into)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		return json.UnmarshalCaseSensitivePreserveInts(b, into)
	}
	t := v.Type().Elem()
	if p := planOf(t); p != nil && utf8.Valid(b) {
		r := reader{src: b, strings: arena{left: len(b), cut: shortest(len(b), owned)}}
		if r.whole(p, v.UnsafePointer()) {
			return nil
		}
		v.Elem().SetZero()
	}
	return json.UnmarshalCaseSensitivePreserveInts(b, into)
}

// whole reads the document. False: it is not one for the fast way.
func (r *reader) whole(p plan, into unsafe.Pointer) bool {
	r.space()
	if !p(r, into) {
		return false
	}
	r.space()
	return r.at == len(r.src)
}

// A plan reads the value that begins at the reader, past any space, into a zero value of its type.
// False: it does not know what to do.
type plan func(r *reader, into unsafe.Pointer) bool

// plans has the plan of each type that was asked for; nil for those that have none.
var plans sync.Map // reflect.Type → plan

func planOf(t reflect.Type) plan {
	if p, ok := plans.Load(t); ok {
		return p.(plan)
	}
	c := compiler{open: map[reflect.Type]*plan{}}
	p := c.plan(t)
	if c.failed {
		p = nil
	}
	known, _ := plans.LoadOrStore(t, p)
	return known.(plan)
}
