package review

import (
	"strings"
	"testing"
)

func TestReaderReadsOrRejects(t *testing.T) {
	for _, tt := range []struct{ in, err string }{
		{`{"s":"a\u0062","b":true,"r":{"x":[1]},"l":["q",null],"o":{"i":"j"},"other":[{}]}`, ""},
		{`{"s":null,"b":null,"r":null,"l":null,"o":null}`, ""},
		{` null `, ""},
		{`{"s":1}`, "want a string, got a number"},
		{`{"s":"a","s":"b"}`, `"s" is there twice`},
		{`{"b":"x"}`, "want true or false, got a string"},
		{`{"l":{}}`, "want an array, got an object"},
		{`{"o":[]}`, "want an object, got an array"},
		{`{"o":true}`, "want an object, got a boolean"},
		{`{} {}`, "data follows the end"},
		{`{}x`, "data follows the end"},
		{`{`, "EOF"},
		{``, "EOF"},
		{`{"s":"` + "\xff" + `"}`, "UTF-8"},
		{`{"r":` + strings.Repeat("[", 1<<20), "depth"},
		{`{"x":` + strings.Repeat(`{"x":`, 20000), "depth"},
	} {
		var s, raw string
		var list []string
		err := Read([]byte(tt.in), func(r *Reader) error {
			names := []string{"b", "r", "l", "o", "s"}
			return r.Fields(names, func(i int) (err error) {
				switch names[i] {
				case "s":
					s, err = r.String("known")
				case "b":
					_, err = r.Bool()
				case "r":
					var b []byte
					b, err = r.Raw()
					raw = string(b)
				case "l":
					err = r.Array(func() error {
						s, err := r.String("q")
						list = append(list, s)
						return err
					})
				case "o":
					err = r.Object(func([]byte) error { return r.Skip() })
				}
				return err
			})
		})
		if tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
			t.Errorf("%.60s: %v, want %q", tt.in, err, tt.err)
		}
		if strings.HasPrefix(tt.in, `{"s":"a\u0062"`) && (s != "ab" || raw != `{"x":[1]}` || len(list) != 2 || list[0] != "q") {
			t.Errorf("read %q %q %q", s, raw, list)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"a":[{"b":null}],"c":"\ud83d\ude00"}`))
	f.Add([]byte(`[[[[`))
	f.Fuzz(func(t *testing.T, b []byte) {
		before := string(b)
		var walk func(r *Reader) error
		walk = func(r *Reader) error {
			switch r.Peek() {
			case '{':
				return r.Object(func([]byte) error { return walk(r) })
			case '[':
				return r.Array(func() error { return walk(r) })
			}
			raw, err := r.Raw()
			if err == nil && raw != nil && !strings.Contains(before, string(raw)) {
				t.Errorf("%q is no part of %q", raw, before)
			}
			return err
		}
		_ = Read(b, walk)
		if string(b) != before {
			t.Error("the input was changed")
		}
	})
}
