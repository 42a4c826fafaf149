package gofield_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"unsafe"

	"github.com/flyball-io/flyball/internal/decode"
	"github.com/flyball-io/flyball/internal/gofield"
	"github.com/flyball-io/flyball/internal/sparse"
	"github.com/flyball-io/flyball/internal/wire"
)

// Structs to embed. Some have the same names as others, in fields, in tags, or in both.
type (
	A struct {
		X string
		Y string `json:"y"`
	}
	B struct {
		X string `json:"X"`
		Z string `json:"y,omitempty"`
	}
	C struct {
		A
		W string `json:",inline"`
	}
	D struct {
		*B
		V string `json:"v"`
	}
	E struct {
		A `json:"a"`
		*C
		X string `json:"-"`
		U string `json:"u"`
	}
	F struct {
		C
		D
		Y string
	}
	G struct {
		*G
		X string
		B `json:",inline"`
	}
	hidden struct {
		X string
		H string `json:"h"`
		h string
	}
	H struct {
		hidden
		A `json:"-"`
	}
	I struct {
		*hidden
		Z string `json:"é"`
	}
	Text string
	text string
	J    struct {
		Text
		text
		K string `json:"k,omitzero"`
	}
	K struct {
		*Text `json:",omitempty"`
		J     `json:"j,inline"`
		A     `json:"has space"`
	}
	L struct {
		First, Second struct{ A }
		C             `json:"quote"`
	}
	M struct {
		A
		C
	}
	N struct {
		M
		hidden
		I
	}
)

// What is not exported is there for encoding/json to leave out.
var _, _ = hidden{h: ""}, J{text: ""}

var written = []reflect.Type{
	reflect.TypeFor[A](), reflect.TypeFor[B](), reflect.TypeFor[C](), reflect.TypeFor[D](), reflect.TypeFor[E](), reflect.TypeFor[F](), reflect.TypeFor[G](),
	reflect.TypeFor[hidden](), reflect.TypeFor[H](), reflect.TypeFor[I](), reflect.TypeFor[J](), reflect.TypeFor[K](), reflect.TypeFor[L](), reflect.TypeFor[M](), reflect.TypeFor[N](),
}

// draw makes a random struct type. Many of its fields have equal names, and some are embedded structs.
func draw(r *rand.Rand, depth int) reflect.Type {
	var fields []reflect.StructField
	used := map[string]bool{}
	for range 1 + r.IntN(4) {
		f := reflect.StructField{Name: []string{"X", "Y", "Z", "W", "V"}[r.IntN(5)], Type: reflect.TypeFor[string]()}
		f.Tag = reflect.StructTag([]string{"", "", `json:"x"`, `json:"X"`, `json:"Y,omitempty"`, `json:"-"`, `json:"-,"`, `json:",inline"`, `json:",string"`, `json:"a b"`, `json:"q'"`, `json:"v\\"`, `other:"x"`}[r.IntN(13)])
		if depth > 0 && r.IntN(2) == 0 {
			f.Type, f.Anonymous = draw(r, depth-1), r.IntN(4) > 0
			if r.IntN(3) == 0 {
				f.Type = written[r.IntN(7)]
				f.Name = f.Type.Name()
			}
			if r.IntN(3) == 0 {
				f.Type = reflect.PointerTo(f.Type)
			}
		}
		if !used[f.Name] {
			used[f.Name] = true
			fields = append(fields, f)
		}
	}
	return reflect.StructOf(fields)
}

// fill sets all strings of a struct to texts that differ, and gives all pointers a value.
func fill(v reflect.Value, n *int, depth int) {
	switch v.Kind() {
	case reflect.String:
		*n++
		v = reflect.NewAt(v.Type(), unsafe.Pointer(v.UnsafeAddr())).Elem() // of an unexported field, too
		v.SetString(fmt.Sprint("value ", *n))
	case reflect.Pointer:
		if depth < 4 {
			v = reflect.NewAt(v.Type(), unsafe.Pointer(v.UnsafeAddr())).Elem()
			v.Set(reflect.New(v.Type().Elem()))
			fill(v.Elem(), n, depth+1)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), n, depth)
		}
	}
}

// check compares the members of a type with those that encoding/json writes.
func check(t *testing.T, of reflect.Type) {
	t.Helper()
	v := reflect.New(of).Elem()
	n := 0
	fill(v, &n, 0)
	b, err := json.Marshal(v.Addr().Interface())
	if err != nil {
		t.Fatalf("%v: %v", of, err)
	}
	var doc map[string]json.RawMessage
	if err := json.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	have := map[string]json.RawMessage{}
	for _, f := range gofield.Of(of) {
		at := v.FieldByIndex(f.Go.Index)
		if at.Kind() == reflect.Pointer && at.IsNil() && f.Tag.OmitEmpty {
			continue
		}
		value := reflect.NewAt(at.Type(), unsafe.Pointer(at.UnsafeAddr())).Interface()
		if f.Tag.Quoted && at.Kind() == reflect.String {
			value = fmt.Sprintf("%q", at.String())
		}
		if have[f.Name], err = json.Marshal(value); err != nil {
			t.Fatal(err)
		}
		in, pointer := of, false
		for _, via := range f.Via {
			if via.Type.Kind() == reflect.Pointer {
				pointer, in = true, via.Type.Elem()
			} else {
				in = via.Type
			}
		}
		if pointer != f.Pointer || in != f.Owner || f.Owner.Field(f.Go.Index[len(f.Go.Index)-1]).Name != f.Go.Name {
			t.Errorf("%v: %+v", of, f)
		}
		if found, ok := gofield.Find(of, f.Name); !ok || !slices.Equal(found.Go.Index, f.Go.Index) {
			t.Errorf("%v: %s is found as %+v, %v", of, f.Name, found, ok)
		}
	}
	if !maps.EqualFunc(doc, have, func(a, b json.RawMessage) bool { return string(a) == string(b) }) {
		t.Errorf("%v:\n%s\nhave %s", of, b, have)
	}
}

func TestFieldsAreThoseOfEncodingJSON(t *testing.T) {
	for _, of := range written {
		check(t, of)
	}
	for seed := range uint64(3000) {
		if check(t, draw(rand.New(rand.NewPCG(seed, 20)), 3)); t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// agree checks that all that read a type take the members that encoding/json takes.
func agree(t *testing.T, of reflect.Type) {
	t.Helper()
	v := reflect.New(of)
	n := 0
	fill(v.Elem(), &n, 0)
	b, err := json.Marshal(v.Interface())
	if err != nil {
		t.Fatal(err)
	}
	var doc, kept map[string]any
	if err := errors.Join(json.Unmarshal(b, &doc), json.Unmarshal(b, &kept)); err != nil {
		t.Fatal(err)
	}
	stock, ours := reflect.New(of), reflect.New(of)
	stockErr, oursErr := json.Unmarshal(b, stock.Interface()), decode.JSON(b, ours.Interface())
	if (stockErr == nil) != (oursErr == nil) || !reflect.DeepEqual(stock.Interface(), ours.Interface()) {
		t.Errorf("%v: %s is decoded to\n%+v, %v, want\n%+v, %v", of, b, ours, oursErr, stock, stockErr)
	}
	if sparse.Unset(v.Interface(), kept); !reflect.DeepEqual(kept, doc) {
		t.Errorf("%v: of %v stays %v", of, doc, kept)
	}
	var unknown []string
	for _, name := range []string{"A", "B", "U", "V", "W", "X", "Y", "Z", "h", "v", "x", "y"} {
		value, is := doc[name]
		_, text := value.(string)
		_, err := wire.CompilePath(of, name)
		if (err == nil) != text {
			t.Errorf("%v: the path %s: %v, in %s", of, name, err, b)
		}
		if !is {
			unknown = append(unknown, name)
			doc[name] = "x"
		}
	}
	if b, err = json.Marshal(doc); err != nil {
		t.Fatal(err)
	}
	said, err := decode.UnknownFieldsJSON(of, b)
	if slices.Sort(said); err != nil || !slices.Equal(said, unknown) {
		t.Errorf("%v: unknown are %q, %v, want %q", of, said, err, unknown)
	}
}

func TestReadersOfFieldsAgree(t *testing.T) {
	for _, of := range written {
		agree(t, of)
	}
	for seed := range uint64(3000) {
		if agree(t, draw(rand.New(rand.NewPCG(seed, 20)), 3)); t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}
