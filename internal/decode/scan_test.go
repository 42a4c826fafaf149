package decode

import (
	"bytes"
	gojson "encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// rewritten rewrites a document: with some white space, names in the order of seed, and unknown
// members among them.
func rewritten(t testing.TB, doc []byte, seed uint64) []byte {
	r := rand.New(rand.NewPCG(seed, 1))
	d := gojson.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	blank := func() {
		for seed > 1 && r.IntN(4) == 0 {
			b.WriteByte(" \n\t\r"[r.IntN(4)])
		}
	}
	var write func(v any)
	write = func(v any) {
		blank()
		switch v := v.(type) {
		case map[string]any:
			names := slices.Sorted(maps.Keys(v))
			if seed > 0 {
				r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
			}
			b.WriteByte('{')
			for i, name := range names {
				if i > 0 {
					b.WriteByte(',')
				}
				blank()
				one, _ := gojson.Marshal(name)
				b.Write(one)
				blank()
				b.WriteByte(':')
				write(v[name])
			}
			b.WriteByte('}')
		case []any:
			b.WriteByte('[')
			for i, v := range v {
				if i > 0 {
					b.WriteByte(',')
				}
				write(v)
			}
			b.WriteByte(']')
		default:
			one, err := gojson.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			b.Write(one)
		}
		blank()
	}
	write(v)
	return b.Bytes()
}

// The order of names and white space change nothing, and need no stock decoder.
func TestOrderAndSpaceChangeNothing(t *testing.T) {
	docs := map[string]reflect.Type{}
	for i := range 10 {
		docs[string(pod(t, int64(i)))] = reflect.TypeFor[corev1.Pod]()
	}
	doc, err := gojson.Marshal(usualDeployment())
	if err != nil {
		t.Fatal(err)
	}
	docs[string(doc)] = reflect.TypeFor[appsv1.Deployment]()
	for doc, typ := range docs {
		for seed := range uint64(6) {
			doc := rewritten(t, []byte(doc), seed)
			same(t, typ, doc)
			same(t, reflect.TypeFor[map[string]any](), doc)
			same(t, reflect.TypeFor[struct {
				Spec struct{} `json:"spec"`
			}](), doc)
			if !jsonTables.of(typ).decode(doc, reflect.New(typ).UnsafePointer(), false) {
				t.Errorf("not the fast way: %s", doc)
			}
		}
	}
}

// Strings of every length, with a special character at every position, in values, names and skipped
// input; whole and cut off.
func TestStringsDecodeAsStock(t *testing.T) {
	type holder struct {
		S string            `json:"s"`
		M map[string]string `json:"m"`
	}
	for _, piece := range []string{"", `\"`, `\\`, `\n`, `\u0041`, `\u00e4`, `\ud83d\ude00`, `\ud83d`, `\ud83dx`, `\ude00\ud83d`, `\u12`, `\x`, "ä", "😀", "\xff", "\xc3", "\x01", "\x1f", " ", "\x7f", "\x80", `\`} {
		for n := range 20 {
			for _, after := range []int{0, 1, 7, 8, 9} {
				s := strings.Repeat("x", n) + piece + strings.Repeat("y", after) + piece
				for _, doc := range []string{`{"s":"` + s + `"}`, `{"m":{"` + s + `":"` + s + `"}}`, `{"other":"` + s + `","s":"z"}`, `{"` + s + `":1,"s":"z"}`} {
					same(t, reflect.TypeFor[holder](), []byte(doc))
					same(t, reflect.TypeFor[any](), []byte(doc))
					same(t, reflect.TypeFor[any](), []byte(doc[:len(doc)-1-n%3]))
				}
			}
		}
	}
}

// Numbers of every size and form, in fields of every size and in values of any type.
func TestNumbersDecodeAsStock(t *testing.T) {
	var docs []string
	for n := range 24 {
		for _, d := range []string{"1", "9", "12", "127", "128", "255", "256", "32768", "65536", "2147483647", "2147483648", "4294967296", "9223372036854775807", "9223372036854775808", "18446744073709551616", "0", "00", "01"} {
			s := d + strings.Repeat("0", n%12)
			docs = append(docs, s, "-"+s, s+".5", s+"e3", s+"E-2", s+".", s+"e", s+"x", s+" ", "+"+s, s+"."+s+"e+0")
		}
	}
	docs = append(docs, "", "-", "-0", "-0.0", "0.1e1", "1e400", "1e-400", "3.4e38", "3.5e38", "NaN", "Infinity", "0x10", "1_000")
	for _, typ := range []reflect.Type{
		reflect.TypeFor[int8](), reflect.TypeFor[int16](), reflect.TypeFor[int32](), reflect.TypeFor[int64](), reflect.TypeFor[int](),
		reflect.TypeFor[uint8](), reflect.TypeFor[uint16](), reflect.TypeFor[uint32](), reflect.TypeFor[uint64](),
		reflect.TypeFor[float32](), reflect.TypeFor[float64](), reflect.TypeFor[any](), reflect.TypeFor[[]any](), reflect.TypeFor[[]int32](),
	} {
		for _, doc := range docs {
			if typ.Kind() == reflect.Slice {
				doc = "[" + doc + "]"
			}
			same(t, typ, []byte(doc))
		}
	}
}

// Times of every form, sound or not.
func TestTimesDecodeAsStock(t *testing.T) {
	check := func(s string) {
		same(t, reflect.TypeFor[metav1.Time](), []byte(`"`+s+`"`))
	}
	for _, year := range []int{0, 1, 4, 99, 100, 400, 1582, 1600, 1900, 1969, 1970, 1999, 2000, 2026, 2028, 2038, 2100, 2400, 9999} {
		for month := range 14 {
			for _, day := range []int{0, 1, 2, 27, 28, 29, 30, 31, 32} {
				check(fmt.Sprintf("%04d-%02d-%02dT%02d:%02d:%02dZ", year, month, day, day%25, (day*7)%61, (day*11)%61))
			}
		}
	}
	for _, s := range []string{"2026-01-02T24:00:00Z", "2026-01-02T23:60:00Z", "2026-01-02T23:59:60Z", "2026-01-02t23:59:59Z", "2026-01-02 23:59:59Z", "2026-01-02T23:59:59z", "2026-01-02T23:59:5 Z", "2026-0a-02T23:59:59Z", "+026-01-02T23:59:59Z", "2026-01-02T23:59:59+00:00", "2026-01-02T23:59:59.0Z"} {
		check(s)
	}
}

// Lists and maps of changing length; the lengths before serve as hints.
func TestListsOfChangingLengthDecodeAsStock(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 300 {
		o := odd{S: []string{}, N: map[string]string{}, M: map[string]*odd{}}
		for i := range r.IntN(1 << r.IntN(8)) {
			o.S = append(o.S, fmt.Sprint("s", i))
			o.N[fmt.Sprint(i)] = "v"
		}
		var list []any
		for i := range r.IntN(40) {
			o.M[fmt.Sprint(i)] = &odd{S: o.S[:r.IntN(len(o.S)+1)]}
			list = append(list, i, []any{})
		}
		o.X = list
		doc, err := gojson.Marshal([]odd{o, {S: o.S}, o})
		if err != nil {
			t.Fatal(err)
		}
		same(t, reflect.TypeFor[[]odd](), doc)
		same(t, reflect.TypeFor[any](), doc)
	}
}
