package wire_test

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/flyball-io/flyball/internal/wire"
)

// thingViews are of few fields each, in several places of an object.
var thingViews = []reflect.Type{
	reflect.TypeFor[struct{ Metadata struct{ Name string } }](),
	reflect.TypeFor[struct {
		Metadata struct {
			Labels map[string]string
			UID    string
		}
		Spec struct{ Size any }
	}](),
	reflect.TypeFor[struct {
		Size any `field:"spec.size"`
		Last any `field:"status.last"`
	}](),
	reflect.TypeFor[struct {
		Spec any
		Size any `field:"spec.size"`
	}](),
	reflect.TypeFor[struct {
		Spec *struct{ Size, Steps any }
		Deep any `field:"spec.a.b"`
	}](),
	reflect.TypeFor[struct {
		Spec struct{ Steps []struct{ Name any } }
		Data map[string]struct{ A any }
	}](),
	reflect.TypeFor[struct{ Status any }](),
	reflect.TypeFor[struct{ Kind string }](),
}

var thingPaths = []string{"spec.size", "spec", "metadata.labels[app]", "metadata.name", "spec.steps[*].name", "data[a]", "data[a].a", "spec.a.b", "steps[*].name", "status.last"}

// sameOnceKnown checks that what is read of an object that came in a list, with what is known of it,
// is what is read of the same bytes from anywhere.
func sameOnceKnown(t *testing.T, in []byte) {
	t.Helper()
	k, other := &wire.Kind{GVK: things.GVK}, &wire.Kind{GVK: things.GVK}
	twice := wire.Raw{Kind: other, Encoding: wire.JSON, Bytes: []byte(`{"metadata":{"name":"a","name":"b"}}`)}
	if _, err := twice.Header(); err != nil { // from here on all of what is of the other kind is read
		t.Fatal(err)
	}
	list := fmt.Appendf(nil, `{"items":[%s],"kind":"ThingList","apiVersion":"example.com/v1"}`, in)
	raws, _, _, err := drain(t, bytes.NewReader(list), wire.ContentTypeJSON, k, fuzzLimits)
	if err != nil || len(raws) != 1 {
		return
	}
	came := raws[0]
	cut := wire.CutManagedFields(nil, came)
	if plain := wire.CutManagedFields(nil, wire.Raw{Kind: other, Encoding: wire.JSON, Bytes: came.Bytes}); !bytes.Equal(plain.Bytes, cut.Bytes) {
		t.Fatalf("cut: %q, want %q", cut.Bytes, plain.Bytes)
	}
	for _, r := range []wire.Raw{came, cut, {Kind: k, Encoding: wire.JSON, Bytes: cut.Bytes}, (wire.Raw{Kind: k, Encoding: wire.JSON, Bytes: cut.Bytes}).Checked()} {
		plain := wire.Raw{Kind: other, Encoding: wire.JSON, Bytes: r.Bytes}
		h, d, err := r.Scan()
		if h2, d2, err2 := plain.Scan(); diffHeaders(h, h2) != "" || d != d2 || fmt.Sprint(err) != fmt.Sprint(err2) {
			t.Fatalf("%q: %+v %+v %v, want %+v %+v %v", r.Bytes, h, d, err, h2, d2, err2)
		}
		for _, view := range thingViews {
			got, want := reflect.New(view), reflect.New(view)
			err, err2 := r.Project(got.Interface()), plain.Project(want.Interface())
			// Of two fields that cannot be read either may be named.
			if (err == nil) != (err2 == nil) || err == nil && !reflect.DeepEqual(got.Interface(), want.Interface()) {
				t.Fatalf("%q: %+v %v, want %+v %v", r.Bytes, got.Elem(), err, want.Elem(), err2)
			}
		}
		for _, path := range thingPaths {
			p := compile(t, k, path)
			got, err := p.Values(r)
			if want, err2 := p.Values(plain); !slices.Equal(got, want) || fmt.Sprint(err) != fmt.Sprint(err2) {
				t.Fatalf("%s of %q: %q %v, want %q %v", path, r.Bytes, got, err, want, err2)
			}
		}
	}
}

// knownSeeds have equal names, escaped names and nulls on all levels, and long values.
func knownSeeds() (seeds []string) {
	long := `["` + strings.Repeat("x", 200) + `",{"managedFields":[]}]`
	for _, s := range []string{
		`{"metadata":{"name":"a"},"spec":{"size":1,"x":2},"status":null}`, `{"data":{"b":1},"metadata":{"name":"a"},"spec":null,"text":1}`,
		`{"spec":1,"metadata":{"managedFields":[],"name":"a"}}`, `{"spec":{"a":2},"metadata":{"managedFields":[],"name":"b"},"text":"` + strings.Repeat("x", 300) + `"}`,
		`{"metadata":{"labels":{"app":"a"},"managedFields":1,"name":"a","uid":"u"},"spec":{"a":{"b":1},"size":3,"steps":[{"name":"s"},{"name":"t"}],"z":1},"status":{"last":1,"x":1}}`,
		`{"metadata":{"managedFields":1,"name":"a"},"spec":{"size":1},"metadata":{"name":"b","labels":{"app":"c"}}}`,
		`{"metadata":{"name":"a","uid":"u"},"spec":{"size":1,"steps":1,"size":2},"status":1,"status":{"last":5}}`,
		`{"metadata":{"name":"a","n\u0061me":"b","labels":null},"spec":{"size":7,"s\u0069ze":8},"sp\u0065c":{"size":9}}`,
		`{"metadata":{"name":"a","labels":{"app":"a","app":"b"}},"spec":{"a":{"b":1,"b":2},"a":{"b":null}},"data":{"a":{"a":1},"a":{"a":2}}}`,
		`{"metadata":{"name":"a"},"spec":null,"spec":{"size":null,"steps":[{"name":1,"name":2},null]},"status":null}`,
		`{"metadata":{"name":"a","labels":{"app":1,"app":2}},"spec":{"a":{"b":1,"b":2}},"data":{"a":{"a":1,"a":2}},"steps":[{"name":1,"name":"b"},{"name":"c"}]}`,
		`{"metadata":{"managedFields":1,"managedFieldz":{"a":1},"name":"n","uid":"u"},"spec":{"size":1},"status":{"last":1}}`,
		`{"spec":1,"metadata":{"name":"a","managedFields":1,"labels":{"app":1}},"data":{"a":1},"steps":[{"name":"a"},{"name":"b"}]}`,
		`{"metadata":{"managedFields":1,"managedFields":2,"name":"a","managedFields":1,"labels":1},"status":{"last":1}}`,
		`{"metadata":{"name":"a"},"spec":[{"size":1}],"data":[],"status":"","kind":"Thing","apiVersion":"example.com/v1"}`,
		`{ "metadata" : { "name" : "a" , "uid" : "u" } , "spec" : { "steps" : [ { "name" : 4 } ] , "size" : 1 } , "status" : 1 }`,
	} {
		seeds = append(seeds, s, strings.ReplaceAll(s, ":1", ":"+long))
	}
	return seeds
}

func TestKnownObjectsReadTheSame(t *testing.T) {
	for _, s := range knownSeeds() {
		sameOnceKnown(t, []byte(s))
	}
	// One after the other they read as they do alone.
	list := fmt.Appendf(nil, `{"kind":"ThingList","apiVersion":"example.com/v1","items":[%s]}`, strings.Join(knownSeeds(), ","))
	raws, _, _, err := drain(t, bytes.NewReader(list), wire.ContentTypeJSON, &wire.Kind{GVK: things.GVK}, fuzzLimits)
	if err != nil || len(raws) != len(knownSeeds()) {
		t.Fatal(len(raws), err)
	}
	for i, s := range knownSeeds() {
		cut := wire.CutManagedFields(nil, wire.Raw{Kind: things, Encoding: wire.JSON, Bytes: []byte(s)})
		if got := wire.CutManagedFields(nil, raws[i]); !bytes.Equal(got.Bytes, cut.Bytes) {
			t.Errorf("%s: cut %s", s, got.Bytes)
		}
	}
}

// Where the bytes are others than those that are known, nothing breaks.
func TestKnownOfOtherBytes(t *testing.T) {
	for _, s := range knownSeeds() {
		list := fmt.Appendf(nil, `{"items":[%s],"kind":"ThingList","apiVersion":"example.com/v1"}`, s)
		raws, _, _, err := drain(t, bytes.NewReader(list), wire.ContentTypeJSON, &wire.Kind{GVK: things.GVK}, fuzzLimits)
		if err != nil {
			t.Fatal(err)
		}
		for n := range len(s) {
			r := raws[0]
			r.Bytes = r.Bytes[:n:n]
			_, _, _ = r.Scan()
			wire.CutManagedFields(nil, r)
			for _, view := range thingViews {
				_ = r.Project(reflect.New(view).Interface())
			}
			for _, path := range thingPaths {
				_, _ = compile(t, r.Kind, path).Values(r)
			}
		}
	}
}

func FuzzKnown(f *testing.F) {
	for _, s := range knownSeeds() {
		f.Add([]byte(s))
	}
	f.Fuzz(sameOnceKnown)
}

// Of an object that was read before nothing is looked at behind what is wanted.
func TestReadsEndAtTheLastField(t *testing.T) {
	const all = `{"metadata":{"labels":{"app":"a"},"name":"n","namespace":"ns","uid":"u"},"spec":{"size":3,"steps":[{"name":"s"}],"z":[]},"status":{"last":5,"x":1}}`
	for _, c := range []struct {
		view any
		path string
		to   string // what must be there
	}{
		{&struct{ Metadata struct{ Name string } }{}, "metadata.name", `"n"`},
		{&struct {
			Metadata struct {
				Labels map[string]string
				Name   string
			}
		}{}, "metadata.labels[app]", `"n"`},
		{&struct {
			Size int    `field:"spec.size"`
			Name string `field:"metadata.name"`
		}{}, "spec.size", `"size":3`},
		{&struct {
			Spec struct{ Steps []struct{ Name string } }
			UID  string `field:"metadata.uid"`
		}{}, "spec.steps[*].name", `"s"}]`},
	} {
		k := &wire.Kind{GVK: things.GVK}
		cut := strings.Index(all, c.to) + len(c.to)
		for _, tail := range []string{"", ",", "\x00"} {
			r := wire.Raw{Kind: k, Encoding: wire.JSON, Bytes: []byte(all[:cut] + tail)}.Checked()
			got, want := reflect.New(reflect.TypeOf(c.view).Elem()), reflect.New(reflect.TypeOf(c.view).Elem())
			if err := (wire.Raw{Kind: k, Encoding: wire.JSON, Bytes: []byte(all)}).Project(want.Interface()); err != nil {
				t.Fatal(err)
			}
			if err := r.Project(got.Interface()); err != nil || !reflect.DeepEqual(got.Interface(), want.Interface()) {
				t.Errorf("%+v, %v of %s", got.Elem(), err, r.Bytes)
			}
			if got, err := compile(t, k, c.path).Values(r); err != nil || len(got) != 1 {
				t.Errorf("%s of %s: %q, %v", c.path, r.Bytes, got, err)
			}
		}
		short := wire.Raw{Kind: k, Encoding: wire.JSON, Bytes: []byte(all[:cut-1])}.Checked()
		if c.to[len(c.to)-1] == '"' && short.Project(c.view) == nil {
			t.Errorf("%T of %s: no error", c.view, short.Bytes)
		}
	}
}

// What stands in the middle is passed over, too: what is behind it is read from the end.
func TestReadsPassOverTheMiddle(t *testing.T) {
	type two struct {
		Name string `field:"metadata.name"`
		Size int    `field:"spec.size"`
		Last int    `field:"status.last"`
	}
	for _, s := range []string{
		`{"metadata":{"name":"n"},"spec":{"size":3,#},"status":{"last":5}}`,
		` { "metadata" : { "name" : "n" } , "spec" : { "size" : 3 , # } , "status" : { "a" : "}\\\"" , "last" : 5 , "z" : "\\" } , "x" : null , "z" : -1 } `,
		`{"a":[#],"metadata":{"name":"n"},"spec":{"a":"\"{","size":3},"status":{"last":5,"z":[{}]}}`,
		`{"metadata":{"name":"n"},"a":{#},"status":{"last":5},"spec":{"size":3,"a":[[],{"b":1}]},"z":"\\\""}`,
	} {
		for _, middle := range []string{`"a":1`, `"a":{"b":[`, `]}}`, `"`, "\x00", `{"`, strings.Repeat(`"a":"\"","b":[{}],`, 20)} {
			r := wire.Raw{Kind: &wire.Kind{GVK: things.GVK}, Encoding: wire.JSON, Bytes: []byte(strings.Replace(s, "#", middle, 1))}.Checked()
			var got two
			if err := r.Project(&got); err != nil || got != (two{"n", 3, 5}) {
				t.Errorf("%+v, %v of %s", got, err, r.Bytes)
			}
		}
	}
}
