package jsonscan

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// lenient is the decoder that the Checker agrees with.
var lenient = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

// grammarEnd is the end of the first value in b, or why there is none.
func grammarEnd(b []byte) (int, error) {
	var c Checker
	i, err := c.Read(b, 0, true)
	if err == nil && !c.Done() {
		err = io.ErrUnexpectedEOF
	}
	return i, err
}

// stockEnd is the same by the decoder that others use.
func stockEnd(b []byte) (int, error) {
	d := jsontext.NewDecoder(bytes.NewBuffer(b), lenient...)
	_, err := d.ReadValue()
	return int(d.InputOffset()), err
}

func sameGrammar(t *testing.T, in []byte) {
	t.Helper()
	want, wantErr := stockEnd(in)
	got, err := grammarEnd(in)
	if (err == nil) != (wantErr == nil) || err == nil && got != want {
		t.Fatalf("%.80q: %d, %v; the decoder says %d, %v", in, got, err, want, wantErr)
	}
	// In pieces it is the same: those that were read are not looked at again.
	var c Checker
	var again error
	at, step := 0, 1
	for end := 0; again == nil && !c.Done() && end < len(in); {
		end = min(len(in), end+step)
		step = step%7 + 1
		head := append([]byte(nil), in[:end]...)
		for i := range at {
			head[i] = '?'
		}
		at, again = c.Read(head, at, end == len(in))
	}
	if again == nil && !c.Done() {
		again = io.ErrUnexpectedEOF
	}
	if (again == nil) != (err == nil) || err == nil && at != got {
		t.Fatalf("%.80q: in pieces %d, %v; at once %d, %v", in, at, again, got, err)
	}
}

var grammarSeeds = []string{
	`{"a":[1,-2.5e+3,0,-0,0.5,1E9],"b":{"c":null,"":true},"d":"\u00e4\"\\\/\b\f\n\r\t","e":false}`, `[]`, `{}`, `[[],{}]`, `""`, `1`,
	"\t{ \"a\" : [ 1 , 2 ] \r\n}", `01`, `1.`, `1.e5`, `1e`, `1e+`, `-`, `-a`, `+1`, `.5`, `00`, `-01`, `1.5.5`, `1e5e5`, `1-`, `nul`, `nulL`, `truefalse`,
	`{"a" 1}`, `{"a":1,}`, `{,}`, `{1:2}`, `{"a"}`, `[1,]`, `[,]`, `[1 2]`, `[}`, `{]`, `{"a":[}`, `]`, `}`, `,`, `:`,
	`"\x"`, `"\u12g4"`, `"\u12`, `"\ud800"`, `"\ud800\u0041"`, "\"\x00\"", "\"a\nb\"", "\"\xff\"", "\"\xe2\x82\"", "\"abcdefg\x1f\"", `"abcdefgh\"ijklmnop"`, `"abcdefghijklmno\\"`,
	"\xef\xbb\xbf{}", "\v1", "\u00a01", ``, ` `, `'a'`, `NaN`, `/**/1`, `{"a":1}}`, `"a`, `"\`, `1 2`,
}

func TestGrammarIsThatOfTheStockParser(t *testing.T) {
	for _, s := range grammarSeeds {
		sameGrammar(t, []byte(s))
	}
	for _, open := range []string{"[", `{"":`, `[{"a":`} {
		inner, levels := "1", strings.Count(open, "{")+strings.Count(open, "[")
		shut := map[string]string{"[": "]", `{"":`: "}", `[{"a":`: "}]"}[open]
		for _, n := range []int{MaxDepth/levels - 1, MaxDepth / levels, MaxDepth/levels + 1} {
			sameGrammar(t, []byte(strings.Repeat(open, n)+inner+strings.Repeat(shut, n)))
		}
	}
}

func FuzzGrammar(f *testing.F) {
	for _, s := range grammarSeeds {
		f.Add([]byte(s))
	}
	f.Fuzz(sameGrammar)
}
