package decode

import (
	"bytes"
	gojson "encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/json"
	"sigs.k8s.io/randfill"

	"github.com/flyball-io/flyball/internal/fieldsv1"
)

func filler(seed int64) *randfill.Filler {
	return randfill.NewWithSeed(seed).NilChance(0.4).NumElements(0, 3).MaxDepth(12).Funcs(
		func(t *metav1.Time, c randfill.Continue) { t.Time = time.Unix(c.Int63n(4e9), 0) },
		func(t *metav1.MicroTime, c randfill.Continue) { t.Time = time.Unix(c.Int63n(4e9), 1000*c.Int63n(1e6)) },
		func(q *resource.Quantity, c randfill.Continue) {
			*q = *resource.NewMilliQuantity(c.Int63n(1e9), resource.DecimalSI)
		},
		func(v *intstr.IntOrString, c randfill.Continue) {
			if *v = intstr.FromInt32(c.Int31()); c.Bool() {
				*v = intstr.FromString(c.String(0))
			}
		},
		func(e *runtime.RawExtension, c randfill.Continue) { e.Raw = fmt.Appendf(nil, `{"a":%d}`, c.Int31()) },
		func(f *metav1.FieldsV1, c randfill.Continue) {
			*f = *fieldsv1.New(fmt.Sprintf(`{"f:a%d":{}}`, c.Int31()))
		},
		func(v *any, c randfill.Continue) { *v = c.String(0) },
		func(m *map[string]any, c randfill.Continue) {
			*m = map[string]any{"s": c.String(0), "i": c.Int63(), "l": []any{1.5, nil, true, map[string]any{}}}
		},
	)
}

// same decodes a JSON document as [sameAs] does.
func same(t testing.TB, typ reflect.Type, doc []byte) {
	t.Helper()
	sameAs(t, typ, doc, JSON, JSONOwned, func(b []byte, into any) error { return json.UnmarshalCaseSensitivePreserveInts(b, into) })
}

// sameAs decodes a document with ours, with owned and with stock. Errors and results are the same.
func sameAs(t testing.TB, typ reflect.Type, doc []byte, ours, owned, stock func([]byte, any) error) {
	t.Helper()
	decoded := func(decode func([]byte, any) error) (any, string) {
		into := reflect.New(typ).Interface()
		return into, fmt.Sprint(decode(doc, into))
	}
	got, err := decoded(ours)
	want, wantErr := decoded(stock)
	if o, ownedErr := decoded(owned); ownedErr != err || !reflect.DeepEqual(o, got) {
		t.Fatalf("%v: an owned buffer makes a difference: %v\n%s\n%q", typ, ownedErr, cmp.Diff(got, o), doc)
	}
	if err != wantErr {
		t.Fatalf("%v: error %v, stock %v\n%q", typ, err, wantErr, doc)
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%v differs from stock:\n%s\n%q", typ, cmp.Diff(want, got), doc)
	}
}

func types(t testing.TB) []reflect.Type {
	var types []reflect.Type
	for gvk, typ := range clientgoscheme.Scheme.AllKnownTypes() {
		if gvk.Version != runtime.APIVersionInternal && !strings.HasSuffix(gvk.Kind, "Options") {
			types = append(types, typ)
		}
	}
	slices.SortFunc(types, func(a, b reflect.Type) int { return strings.Compare(a.PkgPath()+a.Name(), b.PkgPath()+b.Name()) })
	types = slices.Compact(types)
	if len(types) < 300 {
		t.Fatalf("%d types", len(types))
	}
	return types
}

// long returns n, or all with FLYBALL_LONG.
func long(n, all int) int {
	if os.Getenv("FLYBALL_LONG") != "" {
		return all
	}
	return n
}

// Every kind of the API, filled at random, decodes as with the stock decoder, on the fast path.
func TestEveryKindDecodesAsStock(t *testing.T) {
	for i, typ := range types(t) {
		for n := range 3 {
			obj := reflect.New(typ).Interface()
			filler(int64(i*100 + n)).Fill(obj)
			doc, err := gojson.Marshal(obj)
			if err != nil {
				t.Fatalf("%v: %v", typ, err)
			}
			same(t, typ, doc)
			if table := jsonTables.of(typ); table == nil || !table.decode(doc, reflect.New(typ).UnsafePointer(), false) {
				t.Errorf("%v: not the fast way (known: %v)\n%s", typ, table != nil, doc)
			}
		}
	}
}

// pod returns a document to change.
func pod(t testing.TB, seed int64) []byte {
	p := &corev1.Pod{}
	filler(seed).Fill(p)
	doc, err := gojson.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// Damaged documents end as with the stock decoder, including errors and partial results.
func TestDamagedJSONFailsAsStock(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	pieces := []string{`"`, `\`, `{`, `}`, `[`, `]`, `,`, `:`, `null`, `true`, `1`, `-`, `.5`, `1e3`, `"\u12"`, `"\ud800"`, `"\ud83d\ude00"`, ` `, "\x01", "\xff", `"metadata":{"name":"x"},`, `"name":"twice",`}
	for i := range long(500, 3000) {
		doc := bytes.Clone(pod(t, int64(i%40)))
		for range 1 + r.IntN(3) {
			at := r.IntN(len(doc))
			switch piece := pieces[r.IntN(len(pieces))]; r.IntN(3) {
			case 0:
				doc = append(doc[:at:at], append([]byte(piece), doc[at:]...)...)
			case 1:
				doc = append(doc[:at:at], append([]byte(piece), doc[min(at+len(piece), len(doc)):]...)...)
			default:
				doc = append(doc[:at:at], doc[min(at+1+r.IntN(30), len(doc)):]...)
			}
			if len(doc) == 0 {
				break
			}
		}
		same(t, reflect.TypeFor[corev1.Pod](), doc)
	}
}

type odd struct {
	A      *int8             `json:"a"`
	B      uint16            `json:"b"`
	F      float32           `json:"f"`
	G      float64           `json:"g"`
	S      []string          `json:"s"`
	D      []byte            `json:"d"`
	M      map[string]*odd   `json:"m"`
	N      map[string]string `json:"n"`
	X      any               `json:"x"`
	T      metav1.Time       `json:"t"`
	P      *metav1.Time      `json:"p"`
	I      intstr.IntOrString
	Next   *odd   `json:"next"`
	Hidden string `json:"-"`
	within
}

type within struct {
	W bool `json:"w"`
}

func TestUnusualJSONDecodesAsStock(t *testing.T) {
	for _, doc := range []string{
		`{}`, `null`, ` { } `, ``, `{`, `[]`, `"x"`, `{}x`, `{} {}`,
		`{"a":1}`, `{"a":128}`, `{"a":-128}`, `{"a":1.0}`, `{"a":null}`, `{"a":"1"}`, `{"A":1}`, `{"a":01}`, `{"a":-}`, `{"a":1e0}`,
		`{"b":65535}`, `{"b":65536}`, `{"b":-1}`, `{"b":null}`, `{"f":1e40}`, `{"f":1.5e3}`, `{"g":1e400}`, `{"g":-0}`, `{"g":.5}`, `{"g":5.}`,
		`{"s":[]}`, `{"s":null}`, `{"s":["a",null,"b"]}`, `{"s":["a",]}`, `{"s":{}}`, `{"s":"a"}`, `{"s":[1]}`,
		`{"d":""}`, `{"d":"aGk="}`, `{"d":"aGk"}`, `{"d":"aG\nk="}`, `{"d":[1,2]}`, `{"d":null}`,
		`{"m":{}}`, `{"m":{"k":null,"l":{"w":true}}}`, `{"m":{"k":{"a":1},"k":{"b":2}}}`, `{"m":null}`, `{"m":[]}`,
		`{"n":{"k":"v","k":"w"}}`, `{"n":{"k":null}}`, `{"n":{"k":1}}`, `{"n":{"\u006b":"\ud83d\ude00\ud800x"}}`,
		`{"x":1}`, `{"x":1.0}`, `{"x":1e2}`, `{"x":99999999999999999999}`, `{"x":-0}`, `{"x":[]}`, `{"x":[1,[2,{"y":null}]]}`, `{"x":{"a":{"b":"c"}}}`, `{"x":1e400}`,
		`{"t":"2026-01-02T03:04:05Z"}`, `{"t":"2026-01-02T03:04:05.5+02:00"}`, `{"t":""}`, `{"t":null}`, `{"t":5}`, `{"p":null}`, `{"p":"2026-01-02T03:04:05Z"}`,
		`{"I":5}`, `{"I":"50%"}`, `{"I":null}`, `{"I":5000000000}`, `{"I":1.5}`, `{"I":true}`,
		`{"w":true}`, `{"w":false}`, `{"w":null}`, `{"w":tru}`, `{"Hidden":"x","-":"y"}`, `{"within":{"w":true}}`,
		`{"a":1,"a":2}`, `{"next":{"a":1},"next":{"b":2}}`, `{"unknown":{"a":[1,2,{"b":"\u00e4"}],"c":-1.5e-7},"w":true}`, `{"unknown":[1,}`, `{"unknown":"\x"}`,
		`{"next":` + strings.Repeat(`{"next":`, 300) + `null` + strings.Repeat(`}`, 301), `{"x":` + strings.Repeat(`[`, 11000) + strings.Repeat(`]`, 11000) + `}`,
		"{\"x\":\"\xff\"}", "{\"x\":\"a\tb\"}", `{"x":"\/\b\f\n\r\t\"\\"}`, `{"x":"\ud83d"}`, `{"x":"\ud83dA"}`, `{"x":"\u00zz"}`, `{"x" :	1 , "w"
: true}`,
	} {
		same(t, reflect.TypeFor[odd](), []byte(doc))
		same(t, reflect.TypeFor[map[string]any](), []byte(doc))
		same(t, reflect.TypeFor[any](), []byte(doc))
	}
}

type quoted struct {
	N int `json:"n,string"`
}

type shadowed struct {
	within
	Other struct{ within }
	W     string `json:"w"`
}

// Types that the fast path does not support are left to the stock decoder.
func TestUnsupportedTypesDecodeAsStock(t *testing.T) {
	same(t, reflect.TypeFor[quoted](), []byte(`{"n":"5"}`))
	same(t, reflect.TypeFor[shadowed](), []byte(`{"w":"x"}`))
	same(t, reflect.TypeFor[map[int]string](), []byte(`{"1":"x"}`))
	same(t, reflect.TypeFor[[3]int](), []byte(`[1,2]`))
	same(t, reflect.TypeFor[gojson.Number](), []byte(`1`))
	if err := JSON([]byte(`{}`), odd{}); err == nil {
		t.Error("a value that is no pointer")
	}
}

// Nothing of the document is kept: it may be overwritten.
func TestDocumentIsNotKept(t *testing.T) {
	doc := pod(t, 3)
	var p, want corev1.Pod
	if err := JSON(doc, &p); err != nil {
		t.Fatal(err)
	}
	if err := json.UnmarshalCaseSensitivePreserveInts(doc, &want); err != nil {
		t.Fatal(err)
	}
	for i := range doc {
		doc[i] = 'x'
	}
	if !reflect.DeepEqual(p, want) {
		t.Error(cmp.Diff(want, p))
	}
}

func FuzzJSON(f *testing.F) {
	for i := range 20 {
		f.Add(pod(f, int64(i)))
	}
	f.Add([]byte(`{"spec":{"replicas":3,"template":{"spec":{"containers":[{"resources":{"limits":{"cpu":"1"}}}]}}}}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		for _, typ := range []reflect.Type{reflect.TypeFor[corev1.Pod](), reflect.TypeFor[appsv1.Deployment](), reflect.TypeFor[corev1.Secret](), reflect.TypeFor[odd](), reflect.TypeFor[map[string]any]()} {
			same(t, typ, doc)
		}
	})
}
