package state

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

var objects = []string{
	`{"a":1}`,
	`{"a":{},"b":[],"c":null,"d":true,"e":-1.5e+30,"f":12345678901234567890}`,
	`{"a":[{"b":1,"c":[1,2]},{"d":{}},[],[[1],[2,3]],{},"x","- y","z: 1"]}`,
	`{"true":"true","null":"null","~":"~","1":"1","":"","a b":"a: b","k:{\"name\":\"c\"}":{".":{},"f:x":{}}}`,
	`{"text":"one\ntwo\n","keep":"one\n\n\n","strip":"one\ntwo","lead":" one\ntwo","nl":"\none","tabs":"a\n\tb\n","mid":"a\n\n  b\n","r":"a\r\nb"}`,
	`{"html":"\u003ca\u003e \u0026","block":"\u003ca\u003e\n","raw":"<a>\n","sep":"a\u2028b\nc"}`,
	`{"odd":"\ufffd\u0007\u0085\ufeff","del":"a` + "\x7f" + `","c1":"` + "\u0085" + `","pair":"\ud83d\ude00","face":"😀 ü"}`,
	`{"yes":"no","time":"2026-01-01T00:00:00Z","ip":"10.0.0.1","hex":"0x1f","oct":"0755","inf":".inf","sex":"12:30:45","colon":"a:","url":"http://x:80/y"}`,
	`{"list":["a\nb\n",["c\nd"],{"e":"f\n"}],"comment":"a #b","hash":"#a","doc":"---\n---\n","percent":"%a","anchor":"&a","star":"*a","bang":"!a","at":"@a","tick":"` + "`" + `a"}`,
	`{"long":"` + strings.Repeat("long ", 400) + `","` + strings.Repeat("k", 1500) + `":1}`,
	`{"quote":"'a' \"b\" \\","tab":"a\tb","slash":"a\/b"}`,
}

// What is written reads as the same JSON, byte for byte, and other readers of YAML find the same values.
func TestYAMLThereAndBack(t *testing.T) {
	for _, object := range objects {
		check(t, object, true)
	}
}

func check(t *testing.T, object string, known bool) {
	t.Helper()
	text, err := appendYAML(nil, []byte(object))
	if err != nil {
		if known {
			t.Errorf("%s: %v", object, err)
		}
		return
	}
	got, exact, err := parse(text)
	if err != nil || !exact && known {
		t.Errorf("%s: exact %v, %v\n%s", object, exact, err, text)
		return
	}
	if string(got) != object && strings.IndexFunc(object, func(c rune) bool { return c == '\\' || c < ' ' || c > '~' }) < 0 {
		t.Errorf("got  %s\nwant %s\n%s", got, object, text)
	}
	if a, b := value(t, got), value(t, []byte(object)); !reflect.DeepEqual(a, b) {
		t.Errorf("got  %v\nwant %v\n%s", a, b, text)
	}
	if strings.Contains(object, strings.Repeat("k", 1024)) || !known && len(object) > 1000 {
		return // other readers want short names
	}
	theirs, err := yaml.YAMLToJSON(text)
	if err != nil {
		t.Errorf("%s: another reader: %v\n%s", object, err, text)
		return
	}
	if a, b := value(t, theirs), value(t, []byte(object)); !reflect.DeepEqual(a, b) {
		t.Errorf("another reader\ngot  %v\nwant %v\n%s", a, b, text)
	}
}

func value(t *testing.T, object []byte) (v any) {
	t.Helper()
	if err := json.Unmarshal(object, &v); err != nil {
		t.Fatalf("%s: %v", object, err)
	}
	return v
}

// The texts that the API server writes come back byte for byte.
func TestYAMLKeepsBytes(t *testing.T) {
	for _, object := range objects[:6] {
		text, err := appendYAML(nil, []byte(object))
		if err != nil {
			t.Fatal(err)
		}
		if got, _, _ := parse(text); string(got) != object {
			t.Errorf("got  %s\nwant %s\n%s", got, object, text)
		}
	}
}

// Files that people have edited are read, too.
func TestYAMLOfPeople(t *testing.T) {
	for text, want := range map[string]string{
		"a: 1 # one\n":              `{"a":1}`,
		"a:\n    b: 'x'\n":          `{"a":{"b":"x"}}`,
		"a: {b: [1, 2]}":            `{"a":{"b":[1,2]}}`,
		"# a comment\na: yes it is": `{"a":"yes it is"}`,
		"a: >\n  one\n  two\n":      `{"a":"one two\n"}`,
		"a:\nb: 2\n":                `{"a":null,"b":2}`,
		"a: 0x10\n":                 `{"a":16}`,
		"a: |\n  x\n\nb: 1\n":       `{"a":"x\n","b":1}`,
		"a: |+\n  x\nb: 1\n":        `{"a":"x\n","b":1}`,
	} {
		got, _, err := parse([]byte(text))
		if err != nil || string(got) != want {
			t.Errorf("%q: %s, %v, want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "- a\n", "a", "a: [", "a: 1\na: 2\n", "\x00"} {
		if got, _, err := parse([]byte(text)); err == nil {
			t.Errorf("%q: %s, want an error", text, got)
		}
	}
}

// Whatever the fast reader takes, package yaml reads as the same values.
func FuzzParse(f *testing.F) {
	for _, object := range objects {
		text, err := appendYAML(nil, []byte(object))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		p := parser{in: text}
		if !p.document() {
			return
		}
		theirs, err := yaml.YAMLToJSON(text)
		if err != nil {
			return // a name that is too long: ours is no checker of YAML
		}
		var numbers any
		if json.Unmarshal(theirs, &numbers) != nil || json.Unmarshal(p.out, &numbers) != nil {
			return // a number that is too large
		}
		if a, b := value(t, p.out), value(t, theirs); !reflect.DeepEqual(a, b) {
			t.Errorf("%q: %v, want %v", text, a, b)
		}
	})
}

// Whatever JSON there is comes back.
func FuzzYAML(f *testing.F) {
	for _, object := range objects {
		f.Add([]byte(object))
	}
	f.Fuzz(func(t *testing.T, object []byte) {
		var compact bytes.Buffer
		if !json.Valid(object) || json.Compact(&compact, object) != nil || strings.Contains(strings.ToLower(compact.String()), `\ud`) {
			return
		}
		var values map[string]any
		if json.Unmarshal(object, &values) != nil || len(values) == 0 {
			return
		}
		text, err := json.Marshal(values) // one of each name
		if err != nil {
			return
		}
		check(t, string(text), false)
	})
}
