package decode

import (
	"bytes"
	gojson "encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// both are the two encodings as tests use them.
var both = []struct {
	name   string
	form   form
	encode func(any) ([]byte, error)
	decode func([]byte, any) error
	field  func(r *rand.Rand) []byte // a field that no type has
}{
	{"json", jsonForm, gojson.Marshal, JSON, func(r *rand.Rand) []byte {
		return fmt.Appendf(nil, `"newer%d":%s`, r.IntN(1e9), []string{`1`, `"}]"`, `{"a":[{}]}`, `[]`, `null`}[r.IntN(5)])
	}},
	{"protobuf", protoForm, func(o any) ([]byte, error) { return o.(marshaler).Marshal() }, Protobuf, func(r *rand.Rand) []byte {
		b := protowire.AppendTag(nil, protowire.Number(1000+r.IntN(5)), protowire.BytesType)
		return protowire.AppendString(b, fmt.Sprint(r.IntN(1e9)))
	}},
}

// newer returns a document with more fields in some of its messages.
func newer(t testing.TB, f form, typ reflect.Type, doc []byte, r *rand.Rand, field func(*rand.Rand) []byte) (_ []byte, added [][]byte) {
	t.Helper()
	d, err := f.parse(doc, f.outlines.of(typ))
	if err != nil {
		t.Fatalf("%v: %v\n%s", typ, err, doc)
	}
	var visit func(p *part) bool
	visit = func(p *part) bool {
		for _, c := range slices.Concat(p.children, p.elems) {
			if c != nil && visit(c) {
				p.changed = true
			}
		}
		if p.at.kind == partMessage && !p.at.entry && !p.null && r.IntN(4) == 0 {
			text := field(r)
			added = append(added, text)
			p.put(text)
		}
		return p.changed
	}
	if d.root == nil || !visit(d.root) {
		return doc, nil
	}
	return f.write(d), added
}

// Every kind of the API gets random fields of a newer server. Read, encoded and restored, it is
// unchanged, and only the unknown fields are added to the sent document.
func TestRestoreEveryKind(t *testing.T) {
	for _, f := range both {
		t.Run(f.name, func(t *testing.T) {
			fields := 0
			for i, typ := range types(t) {
				if _, ok := reflect.New(typ).Interface().(stockMessage); !ok && f.name == "protobuf" {
					continue
				}
				r := rand.New(rand.NewPCG(uint64(i), 1))
				for n := range long(1, 4) {
					obj, known := reflect.New(typ).Interface(), reflect.New(typ).Interface()
					filler(int64(i*100 + n)).Fill(obj)
					doc := encoded(t, f.encode, obj)
					if err := f.decode(doc, known); err != nil { // nil slices and maps may be empty from here on
						t.Fatalf("%v: %v", typ, err)
					}
					doc = encoded(t, f.encode, known)
					known = reflect.New(typ).Interface()
					doc, added := newer(t, f.form, typ, doc, r, f.field)
					fields += len(added)
					if err := f.decode(doc, known); err != nil {
						t.Fatalf("%v: %v", typ, err)
					}
					if len(added) > 0 && !Partial(typ) {
						t.Errorf("%v: unknown fields were not noted", typ)
					}
					if more, err := f.form.unknown(typ, doc); err != nil || more != (len(added) > 0) {
						t.Errorf("%v: unknown %v %v, added %d", typ, more, err, len(added))
					}
					sent := encoded(t, f.encode, known)
					got, err := f.form.restore(typ, Versions{doc, sent, sent})
					if err != nil {
						t.Fatalf("%v: %v", typ, err)
					}
					if len(added) == 0 && unsafe.SliceData(got) != unsafe.SliceData(sent) {
						t.Errorf("%v: copied for nothing", typ)
					}
					sameDocument(t, f.form, typ, got, doc)

					other := reflect.New(typ).Interface()
					filler(int64(i*100 + n + 50)).Fill(other)
					unrelated(t, f.form, f.decode, typ, Versions{doc, sent, encoded(t, f.encode, other)})
				}
			}
			if fields < long(1000, 2000) {
				t.Errorf("%d fields", fields)
			}
		})
	}
}

// sameDocument compares documents except for the order of fields. got must have all of want that is
// not null or empty in JSON, where a type may omit zero values.
func sameDocument(t testing.TB, f form, typ reflect.Type, got, want []byte) {
	t.Helper()
	if f.outlines == protoForm.outlines {
		if !bytes.Equal(got, want) {
			t.Fatalf("%v:\n%x, want\n%x", typ, got, want)
		}
		return
	}
	var a, b any
	if err := errors.Join(gojson.Unmarshal(got, &a), gojson.Unmarshal(want, &b)); err != nil {
		t.Fatalf("%v: %v\n%s", typ, err, got)
	}
	if d := cmp.Diff(b, a); d != "" {
		t.Fatalf("%v: %s", typ, d)
	}
}

// unrelated restores into an object unrelated to the read one. Without an error the known fields
// are those of the sent object.
func unrelated(t testing.TB, f form, decode func([]byte, any) error, typ reflect.Type, v Versions) {
	t.Helper()
	got, err := f.restore(typ, v)
	if err != nil {
		if place, ok := errors.AsType[*PlaceError](err); !ok || place.Field == "" || len(place.Names) == 0 {
			t.Fatalf("%v: %v", typ, err)
		}
		return
	}
	a, b := reflect.New(typ).Interface(), reflect.New(typ).Interface()
	if err := errors.Join(decode(got, a), decode(v.Sent, b)); err != nil {
		t.Fatalf("%v: %v\n%q", typ, err, got)
	}
	if !reflect.DeepEqual(a, b) {
		t.Fatalf("%v: what is known was changed: %s", typ, cmp.Diff(b, a))
	}
}

func encoded(t testing.TB, encode func(any) ([]byte, error), obj any) []byte {
	t.Helper()
	doc, err := encode(obj)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// Unknown fields follow their messages when the object changes.
func TestRestoreFollowsMovedElements(t *testing.T) {
	type elem struct {
		A string `json:"a,omitempty"`
		B *elem  `json:"b,omitempty"`
	}
	type named struct {
		Name string `json:"name"`
		Port int    `json:"port,omitempty"`
		Sub  []elem `json:"sub,omitempty"`
	}
	type typ struct {
		N      int              `json:"n,omitempty"`
		Struct elem             `json:"struct,omitzero"`
		Ptr    *elem            `json:"ptr,omitempty"`
		Map    map[string]*elem `json:"map,omitempty"`
		Plain  []elem           `json:"plain,omitempty"`
		Named  []*named         `json:"named,omitempty"`
		Ports  []named          `json:"ports,omitempty" patchMergeKey:"port"`
		Lists  [][]elem         `json:"lists,omitempty"`
		Any    any              `json:"any,omitempty"`
		Raw    metav1.FieldsV1  `json:"raw,omitzero"`
	}
	for _, tt := range []struct {
		name, read string
		change     func(*typ)
		want       string // or the path of the error
	}{
		{"a field", `{"n":1,"x":2}`, func(o *typ) { o.N = 3 }, `{"n":3,"x":2}`},
		{"to zero", `{"n":1,"x":2}`, func(o *typ) { o.N = 0 }, `{"x":2}`},
		{"an explicit zero is the type's own affair", `{"n":0,"x":2}`, func(o *typ) {}, `{"x":2}`},
		{"other case", `{"n":1,"N":2,"\u006e2":3}`, func(o *typ) {}, `{"n":1,"N":2,"n2":3}`},
		{"nothing known of a message", `{"struct":{"x":1}}`, func(o *typ) { o.N = 1 }, `{"n":1,"struct":{"x":1}}`},
		{"nothing known of it before", `{"struct":{"x":1}}`, func(o *typ) { o.Struct.A = "a" }, `{"struct":{"a":"a","x":1}}`},
		{"nothing known of it now", `{"struct":{"a":"a","x":1}}`, func(o *typ) { o.Struct.A = "" }, `{}`},
		{"pointer removed", `{"ptr":{"a":"a","x":1},"x":2}`, func(o *typ) { o.Ptr = nil }, `{"x":2}`},
		{"pointer replaced", `{"ptr":{"x":1}}`, func(o *typ) { o.Ptr = &elem{A: "b"} }, `{"ptr":{"a":"b","x":1}}`},
		{"deep", `{"ptr":{"b":{"b":{"x":1}}}}`, func(o *typ) { o.Ptr.B.B.A = "b" }, `{"ptr":{"b":{"b":{"a":"b","x":1}}}}`},
		{"map", `{"map":{"a":{"x":1},"b":{"x":2},"c":{"b":{"a":"","x":4},"x":3}}}`, func(o *typ) {
			delete(o.Map, "a")
			o.Map["b"].A = "b"
			o.Map["c"].B = nil
			o.Map["d"] = &elem{}
		}, `{"map":{"b":{"a":"b","x":2},"c":{"x":3},"d":{}}}`},
		{"null in a map", `{"map":{"a":{"x":1}}}`, func(o *typ) { o.Map["a"] = nil }, `{"map":{"a":null}}`},
		{"null in a list", `{"named":[{"name":"","x":1}]}`, func(o *typ) { o.Named[0] = nil }, `{"named":[null]}`},
		{"as it is", `{"any":{"x":[{"y":1}]},"raw":{"x":{}},"x":1}`, func(o *typ) { o.N = 1 }, `{"n":1,"any":{"x":[{"y":1}]},"raw":{"x":{}},"x":1}`},

		{"list, same", `{"plain":[{"x":1},{"a":"a"},{"x":3}]}`, func(o *typ) { o.N = 1 }, `{"n":1,"plain":[{"x":1},{"a":"a"},{"x":3}]}`},
		{"list, changed in place", `{"plain":[{"a":"a","x":1},{"a":"b","x":2}]}`, func(o *typ) { o.Plain[1].A = "c" }, `{"plain":[{"a":"a","x":1},{"a":"c","x":2}]}`},
		{"list, all changed", `{"plain":[{"a":"a","x":1},{"a":"b","x":2}]}`, func(o *typ) { o.Plain[0].A, o.Plain[1].A = "c", "d" }, `{"plain":[{"a":"c","x":1},{"a":"d","x":2}]}`},
		{"list, removed", `{"plain":[{"a":"a","x":1},{"a":"b","x":2}]}`, func(o *typ) { o.Plain = o.Plain[1:] }, `{"plain":[{"a":"b","x":2}]}`},
		{"list, removed all", `{"plain":[{"a":"a","x":1}]}`, func(o *typ) { o.Plain = nil }, `{}`},
		{"list, added", `{"plain":[{"a":"a","x":1}]}`, func(o *typ) { o.Plain = append([]elem{{A: "0"}}, append(o.Plain, elem{A: "z"})...) }, `{"plain":[{"a":"0"},{"a":"a","x":1},{"a":"z"}]}`},
		{"list, turned", `{"plain":[{"a":"a","x":1},{"a":"b","x":2},{"a":"c","x":3}]}`, func(o *typ) { slices.Reverse(o.Plain) }, `{"plain":[{"a":"c","x":3},{"a":"b","x":2},{"a":"a","x":1}]}`},
		{"list, changed behind one that is new", `{"plain":[{"a":"a"},{"a":"b","x":2}]}`, func(o *typ) { o.Plain = []elem{{A: "n"}, {A: "a"}, {A: "c"}} }, `{"plain":[{"a":"n"},{"a":"a"},{"a":"c","x":2}]}`},
		{"list, one of it removed, one changed", `{"plain":[{"a":"a","x":1},{"a":"b","x":2}]}`, func(o *typ) { o.Plain = []elem{{A: "c"}} }, "plain"},
		{"list, one changed, one new", `{"ptr":{"b":{"x":1}},"plain":[{"a":"a","b":{"b":{"y":1}},"x":1}]}`, func(o *typ) { o.Plain = []elem{{A: "c"}, {A: "d"}} }, "plain"},
		{"list, unclear but nothing to lose", `{"x":1,"plain":[{"a":"a"},{"a":"b"}]}`, func(o *typ) { o.Plain = []elem{{A: "c"}} }, `{"plain":[{"a":"c"}],"x":1}`},
		{"list in a list", `{"lists":[[{"a":"a","x":1}],[{"a":"b","x":2}]]}`, func(o *typ) { o.Lists[1][0].A = "c" }, `{"lists":[[{"a":"a","x":1}],[{"a":"c","x":2}]]}`},
		{"list in a list, unclear", `{"lists":[[],[{"a":"b","x":2}]]}`, func(o *typ) { o.Lists[1] = []elem{{A: "c"}, {}} }, "lists[1]"},

		{"by key", `{"named":[{"name":"a","x":1},{"name":"b","x":2},{"name":"c","x":3}]}`, func(o *typ) {
			o.Named = []*named{{Name: "n"}, {Name: "c", Port: 1}, {Name: "a", Port: 2}}
		}, `{"named":[{"name":"n"},{"name":"c","port":1,"x":3},{"name":"a","port":2,"x":1}]}`},
		{"renamed", `{"named":[{"name":"a","x":1}]}`, func(o *typ) { o.Named[0].Name = "b" }, `{"named":[{"name":"b"}]}`},
		{"key by tag", `{"ports":[{"name":"a","port":1,"x":1},{"name":"b","port":2,"x":2}]}`, func(o *typ) {
			o.Ports = []named{{Name: "c", Port: 2}, {Name: "b", Port: 1}}
		}, `{"ports":[{"name":"c","port":2,"x":2},{"name":"b","port":1,"x":1}]}`},
		{"one key twice", `{"ports":[{"name":"tcp","port":1,"x":1},{"name":"udp","port":1,"x":2}]}`, func(o *typ) { o.Ports[1].Name = "u" }, `{"ports":[{"name":"tcp","port":1,"x":1},{"name":"u","port":1,"x":2}]}`},
		{"one key twice, unclear", `{"ports":[{"name":"tcp","port":1,"x":1},{"name":"udp","port":1,"x":2}]}`, func(o *typ) { o.Ports = []named{{Name: "u", Port: 1}} }, "ports"},
		{"in an element", `{"named":[{"name":"a","sub":[{"x":1}]}]}`, func(o *typ) { o.Named = append([]*named{{}}, o.Named...); o.Named[1].Sub[0].A = "s" }, `{"named":[{"name":""},{"name":"a","sub":[{"a":"s","x":1}]}]}`},
		{"in an element, unclear", `{"named":[{"name":"a","sub":[{"x":1}]}]}`, func(o *typ) { o.Named[0].Sub = []elem{{A: "a"}, {A: "b"}} }, "named[0].sub"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var obj typ
			if err := JSON([]byte(tt.read), &obj); err != nil {
				t.Fatal(err)
			}
			v := Versions{Read: []byte(tt.read), Known: encoded(t, gojson.Marshal, obj)}
			tt.change(&obj)
			v.Sent = encoded(t, gojson.Marshal, obj)
			got, err := RestoreJSON(reflect.TypeFor[typ](), v)
			if place, ok := errors.AsType[*PlaceError](err); ok {
				if place.Field != tt.want {
					t.Errorf("error %v", err)
				}
				return
			}
			if err != nil || tt.want[0] != '{' {
				t.Fatalf("%s %v, want %s", got, err, tt.want)
			}
			sameDocument(t, jsonForm, reflect.TypeFor[typ](), got, []byte(tt.want))
		})
	}
}

// The same for protobuf messages: lists with and without keys, a map of messages, pointers.
func TestRestoreProtobufFollowsMovedElements(t *testing.T) {
	deploy := &appsv1.Deployment{}
	deploy.Spec.Template.Spec.Containers = []corev1.Container{
		{Name: "a", Env: []corev1.EnvVar{{Name: "E", Value: "1"}}}, {Name: "b", SecurityContext: &corev1.SecurityContext{}},
	}
	deploy.Spec.Template.Spec.Tolerations = []corev1.Toleration{{Key: "k"}, {Key: "l"}}
	deploy.Spec.Selector = &metav1.LabelSelector{}
	typ := reflect.TypeFor[appsv1.Deployment]()
	doc := encoded(t, both[1].encode, deploy)
	d, err := protoForm.parse(doc, protoForm.outlines.of(typ))
	if err != nil {
		t.Fatal(err)
	}
	number := 0
	var visit func(p *part)
	visit = func(p *part) {
		p.changed = true
		for _, c := range slices.Concat(p.children, p.elems) {
			if c != nil {
				visit(c)
			}
		}
		if p.at.kind == partMessage {
			number++
			p.put(protowire.AppendVarint(protowire.AppendTag(nil, 500, protowire.VarintType), uint64(number)))
		}
	}
	visit(d.root)
	read := writeProto(d)
	for _, tt := range []struct {
		name   string
		change func(*appsv1.Deployment)
		lost   int // messages that no longer exist
		path   string
	}{
		{"nothing", func(d *appsv1.Deployment) {}, 0, ""},
		{"turned and changed", func(d *appsv1.Deployment) {
			c := d.Spec.Template.Spec.Containers
			c[0], c[1] = c[1], c[0]
			c[0].Image, c[1].Env[0].Value = "i", "2"
		}, 0, ""},
		{"pointers", func(d *appsv1.Deployment) {
			d.Spec.Selector = nil
			d.Spec.Template.Spec.Containers[1].SecurityContext = nil
		}, 2, ""},
		{"an element", func(d *appsv1.Deployment) {
			d.Spec.Template.Spec.Containers = append([]corev1.Container{{Name: "n"}}, d.Spec.Template.Spec.Containers[1:]...)
		}, 3, ""}, // with its variable and resources
		{"in place", func(d *appsv1.Deployment) { d.Spec.Template.Spec.Tolerations[1].Key = "m" }, 0, ""},
		{"unclear", func(d *appsv1.Deployment) {
			d.Spec.Template.Spec.Tolerations = []corev1.Toleration{{Key: "a"}, {Key: "b"}, {Key: "c"}}
		}, 0, "spec.template.spec.tolerations"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var obj appsv1.Deployment
			if err := Protobuf(read, &obj); err != nil {
				t.Fatal(err)
			}
			v := Versions{Read: read, Known: encoded(t, both[1].encode, &obj)}
			tt.change(&obj)
			v.Sent = encoded(t, both[1].encode, &obj)
			got, err := RestoreProtobuf(typ, v)
			if tt.path != "" {
				if place, ok := errors.AsType[*PlaceError](err); !ok || place.Field != tt.path || !slices.Equal(place.Names, []string{"field 500"}) {
					t.Errorf("error %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var decoded appsv1.Deployment
			if err := Protobuf(got, &decoded); err != nil || !reflect.DeepEqual(obj, decoded) {
				t.Errorf("%v %s", err, cmp.Diff(obj, decoded))
			}
			back, err := protoForm.parse(got, protoForm.outlines.of(typ))
			if err != nil {
				t.Fatal(err)
			}
			if n := countUnknown(back.root); n != number-tt.lost {
				t.Errorf("%d unknown fields of %d, %d should be lost", n, number, tt.lost)
			}
		})
	}
}

func countUnknown(p *part) int {
	if p == nil {
		return 0
	}
	n := len(p.unknown)
	for _, c := range slices.Concat(p.children, p.elems) {
		n += countUnknown(c)
	}
	return n
}

// Unknown fields in documents of the stock decoders are recorded too.
func TestPartialCoversStockDecoders(t *testing.T) {
	type slow struct {
		Ports map[int]rbacv1.PolicyRule `json:"ports"` // the fast path does not support this key
	}
	typ := reflect.TypeFor[slow]()
	for _, tt := range []struct {
		doc  string
		want bool
	}{{`{"ports":{"1":{"verbs":["a"]}}}`, false}, {`{"ports":{"1":{"verbs":["a"],"newer":1}}}`, true}, {`{}`, true}} {
		if err := JSON([]byte(tt.doc), new(slow)); err != nil || Partial(typ) != tt.want {
			t.Errorf("%s: %v %v", tt.doc, err, Partial(typ))
		}
	}
	type twice struct {
		A struct{ B int } `json:"a"`
	}
	for _, doc := range []string{`{"a":{"B":1},"a":{"B":2}}`, `{"a":{"B":1},"a":{"b":2}}`} {
		if err := JSON([]byte(doc), new(twice)); err != nil {
			t.Fatal(err)
		}
		if got := Partial(reflect.TypeFor[twice]()); got != (doc[len(doc)-6] == 'b') {
			t.Errorf("%s: %v", doc, got)
		}
	}
	entry := []byte("\x12\x08\x0a\x01k\x12\x01v\x18\x01") // a map entry with a third field
	if err := Protobuf(entry, new(corev1.ConfigMap)); err != nil {
		t.Fatal(err)
	}
	if !Partial(reflect.TypeFor[corev1.ConfigMap]()) {
		t.Error("a field in the entry of a map was not noted")
	}
}

func FuzzRestore(f *testing.F) {
	f.Add(podMessage(f, 1), podMessage(f, 2), int64(1))
	f.Fuzz(func(t *testing.T, a, b []byte, seed int64) {
		typ := reflect.TypeFor[corev1.Pod]()
		r := rand.New(rand.NewPCG(uint64(seed), 7))
		for _, f := range both {
			var read, sent corev1.Pod
			if Protobuf(a, &read) != nil || Protobuf(b, &sent) != nil {
				return
			}
			known, err := f.encode(&read)
			if err != nil {
				return
			}
			to, err := f.encode(&sent)
			if err != nil {
				return
			}
			if f.name == "json" && f.decode(known, new(corev1.Pod)) != nil {
				return // JSON cannot express it
			}
			doc, _ := newer(t, f.form, typ, known, r, f.field)
			unrelated(t, f.form, f.decode, typ, Versions{doc, known, to})
			got, err := f.form.restore(typ, Versions{doc, known, known})
			if err != nil {
				t.Fatal(err)
			}
			sameDocument(t, f.form, typ, got, doc)
		}
	})
}

// FuzzParts reads any input, and writes it back unchanged.
func FuzzParts(f *testing.F) {
	f.Add(podMessage(f, 3))
	f.Add([]byte(`{"spec":{"containers":[{"name":"a","x":[{}]},null]},"metadata":{"labels":{"a":"b"}}} `))
	f.Fuzz(func(t *testing.T, doc []byte) {
		for _, f := range both {
			if d, err := f.form.parse(doc, f.form.outlines.of(reflect.TypeFor[corev1.Pod]())); err == nil {
				if got := f.form.write(d); !bytes.Equal(got, doc) {
					t.Errorf("%q, was %q", got, doc)
				}
			}
		}
	})
}
