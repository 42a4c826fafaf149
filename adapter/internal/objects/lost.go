package objects

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/internal/gofield"
)

// FieldError says that a transform sets a field that has no JSON. A packed object is its JSON, so the value would be
// lost.
type FieldError struct {
	Kind schema.GroupVersionKind
	// Field is the path of the Go field.
	Field string
}

func (e *FieldError) Error() string {
	return fmt.Sprintf("transform of %s: it sets %s, a field without JSON: the packed cache cannot hold it", e.Kind, e.Field)
}

// lost returns the path of a field that is set and has no JSON, or "". Types whose fields all have JSON cost one
// look-up.
func lost(v reflect.Value) string {
	if !mayLose(v.Type()) {
		return ""
	}
	return lostIn(v, v.Type().String())
}

// lossy has for each type whether a value of it may have a field without JSON, also deep within.
var lossy sync.Map

func mayLose(t reflect.Type) bool {
	if known, ok := lossy.Load(t); ok {
		return known.(bool)
	}
	may := reachesLoss(t, map[reflect.Type]bool{})
	lossy.Store(t, may)
	return may
}

func reachesLoss(t reflect.Type, seen map[reflect.Type]bool) bool {
	if seen[t] || marshals(t) {
		return false
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Interface:
		return true // its values say
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return reachesLoss(t.Elem(), seen)
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); withoutJSON(f) || reachesLoss(f.Type, seen) {
				return true
			}
		}
	}
	return false
}

// withoutJSON reports whether a field is never written: one that is named "-", or not exported. Of an embedded struct
// the exported fields are written.
func withoutJSON(f reflect.StructField) bool {
	embedded := f.Anonymous && (f.Type.Kind() == reflect.Struct || f.Type.Kind() == reflect.Pointer && f.Type.Elem().Kind() == reflect.Struct)
	return gofield.TagOf(f.Tag).Omitted || !f.IsExported() && !embedded
}

var (
	marshaler     = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
)

// marshals reports whether a type writes its own JSON: its fields are its own affair.
func marshals(t reflect.Type) bool {
	if t.Kind() == reflect.Interface {
		return false
	}
	p := reflect.PointerTo(t)
	return p.Implements(marshaler) || p.Implements(textMarshaler)
}

func lostIn(v reflect.Value, path string) string {
	if marshals(v.Type()) {
		return ""
	}
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		if !v.IsNil() {
			return lostIn(v.Elem(), path)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if field := lostIn(v.Index(i), fmt.Sprintf("%s[%d]", path, i)); field != "" {
				return field
			}
		}
	case reflect.Map:
		for k, e := range v.Seq2() {
			if field := lostIn(e, fmt.Sprintf("%s[%v]", path, k)); field != "" {
				return field
			}
		}
	case reflect.Struct:
		return lostOf(v, path)
	}
	return ""
}

func lostOf(v reflect.Value, path string) string {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name := path + "." + f.Name
		if withoutJSON(f) {
			if !v.Field(i).IsZero() {
				return name
			}
		} else if field := lostIn(v.Field(i), name); field != "" {
			return field
		}
	}
	return ""
}
