package jsonscan

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// valueOf builds the value that r comes to, as encoding/json does with numbers left as text.
func valueOf(t *testing.T, r *Reader) any {
	t.Helper()
	var err error
	var v any
	start := r.I
	switch r.Peek() {
	case '{':
		m := map[string]any{}
		err = r.Object(func(name []byte) error {
			s := strings.ToValidUTF8(string(name), "") // a copy
			if s != string(name) {
				s = string(AppendUnquote(nil, append(append([]byte{'"'}, name...), '"')))
			}
			m[s] = valueOf(t, r)
			return nil
		})
		v = m
	case '[':
		list := []any{}
		n, _ := r.Count()
		err = r.Array(func() error { list = append(list, valueOf(t, r)); return nil })
		if n != len(list) {
			t.Errorf("%d elements, counted %d", len(list), n)
		}
		v = list
	case '"':
		_, err = r.Text()
		v = string(AppendUnquote(nil, r.B[start:r.I]))
	case 't', 'f':
		v, err = r.Bool()
	case 'n':
		if !r.Null() {
			t.Error("no null")
		}
	default:
		var b []byte
		b, err = r.number()
		v = json.Number(b)
	}
	if err != nil {
		t.Fatalf("%.80q at %d: %v", r.B, r.I, err)
	}
	if end := Skip(r.B, start, 0); end != r.I {
		t.Fatalf("%.80q: the value at %d ends at %d, by Skip at %d", r.B, start, r.I, end)
	}
	skipped := Reader{B: r.B, I: start, Long: r.Long}
	if err := skipped.Skip(); err != nil || skipped.I != r.I {
		t.Fatalf("%.80q: the value at %d ends at %d, skipped to %d, %v", r.B, start, r.I, skipped.I, err)
	}
	return v
}

// sameAsEncodingJSON checks that both take the same text for valid, and read the same from it.
func sameAsEncodingJSON(t *testing.T, in []byte) {
	t.Helper()
	long, _, err := Check(in)
	if valid := json.Valid(in); valid != (err == nil) {
		t.Fatalf("%.80q: valid is %v for encoding/json: %v", in, valid, err)
	}
	if at := Space(in, 0); err != nil {
		if end := Skip(in, at, 0); end >= 0 && !json.Valid(in[:end]) {
			t.Fatalf("%.80q: Skip takes %q", in, in[:end])
		}
		r := Reader{B: in, I: at} // nothing breaks
		_ = r.Object(func([]byte) error { return r.Skip() })
		return
	}
	d := json.NewDecoder(bytes.NewReader(in))
	d.UseNumber()
	var want any
	if err := d.Decode(&want); err != nil {
		t.Fatal(err)
	}
	r := Reader{B: in, Long: long}
	r.Space()
	if got := valueOf(t, &r); !reflect.DeepEqual(got, want) {
		t.Fatalf("%.80q: got %v, want %v", in, got, want)
	}
}

func TestScanIsThatOfEncodingJSON(t *testing.T) {
	for _, s := range append(layoutSeeds(), grammarSeeds...) {
		sameAsEncodingJSON(t, []byte(s))
	}
	for _, piece := range []string{"", `\"`, `\\`, `\n`, `\u00e4`, `\ud83d\ude00`, `\ud83d`, `\ude00\ud83d`, `\u12`, `\x`, "ä", "\xff", "\xc3", "\x1f", "\x7f"} {
		for n := range 20 {
			s := `"` + strings.Repeat("x", n) + piece + strings.Repeat("y", n%9) + piece + `"`
			sameAsEncodingJSON(t, []byte(s))
			sameAsEncodingJSON(t, []byte(`{`+s+`:[`+s+`,1e5]}`))
		}
	}
	for _, n := range []int{MaxDepth, MaxDepth + 1} {
		if _, _, err := Check([]byte(strings.Repeat("[", n) + strings.Repeat("]", n))); (err == nil) != (n <= MaxDepth) {
			t.Errorf("%d levels: %v", n, err)
		}
	}
}

// Letter case counts, and each of several members of one name is shown.
func TestReaderShowsEachMember(t *testing.T) {
	r := Reader{B: []byte(`{"a":1,"A":2,"a":null}`)}
	var got []string
	err := r.Object(func(name []byte) error {
		v, err := r.Value()
		got = append(got, string(name)+string(v))
		return err
	})
	if want := []string{"a1", "A2", "anull"}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	if _, repeats, _ := Check(r.B); !repeats {
		t.Error("a name that comes twice is not noted")
	}
}

// Nothing breaks where a string is not valid.
func FuzzUnquote(f *testing.F) {
	for _, s := range []string{`"\u12"`, `"\u12g4"`, `"\x"`, `"\"`, `"\ud800\u0041"`, "\"\xff\\n\"", `""`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		if len(in) < 2 {
			return
		}
		got := AppendUnquote([]byte("x"), in)
		var want string
		if in[0] == '"' && in[len(in)-1] == '"' && json.Unmarshal(in, &want) == nil && string(got) != "x"+want {
			t.Fatalf("%q: got %q, want %q", in, got, want)
		}
	})
}

func FuzzScan(f *testing.F) {
	for _, s := range append(layoutSeeds(), grammarSeeds...) {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		if len(in) < 5000 {
			sameAsEncodingJSON(t, in)
		}
	})
}
