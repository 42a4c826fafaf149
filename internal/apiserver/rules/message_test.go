package rules_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/flyball-io/flyball/internal/apiserver/rules"
	_ "github.com/flyball-io/flyball/internal/seed"
)

// fill gives a value every field, by chance.
func fill(r *rapid.T, v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(r, v.Field(i))
		}
	case reflect.Pointer:
		if rapid.Bool().Draw(r, "there") {
			v.Set(reflect.New(v.Type().Elem()))
			fill(r, v.Elem())
		}
	case reflect.String:
		v.SetString(rapid.String().Draw(r, "text"))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(r, "bool"))
	case reflect.Int, reflect.Int64:
		v.SetInt(rapid.Int64().Draw(r, "number"))
	case reflect.Uint64:
		v.SetUint(rapid.Uint64().Draw(r, "number"))
	case reflect.Uint8:
		v.SetUint(uint64(rapid.Byte().Draw(r, "byte")))
	case reflect.Slice, reflect.Map:
		n := rapid.IntRange(-1, 3).Draw(r, "length")
		if n < 0 {
			return // nil
		}
		if v.Kind() == reflect.Slice {
			v.Set(reflect.MakeSlice(v.Type(), n, n))
			for i := range n {
				fill(r, v.Index(i))
			}
			return
		}
		v.Set(reflect.MakeMap(v.Type()))
		for range n {
			key, element := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			fill(r, key)
			fill(r, element)
			v.SetMapIndex(key, element)
		}
	default:
		r.Fatalf("a message has a %s", v.Type())
	}
}

// What is sent arrives, with all fields, nil and empty told apart. A part of it is an error.
func TestMessagesArriveAsTheyAre(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		for _, sent := range []any{&rules.Request{}, &rules.Answer{}} {
			fill(r, reflect.ValueOf(sent).Elem())
			text, err := rules.AppendMessage(nil, sent)
			if err != nil {
				r.Fatal(err)
			}
			got := reflect.New(reflect.TypeOf(sent).Elem()).Interface()
			if err := rules.ParseMessage(text, got); err != nil || !reflect.DeepEqual(sent, got) {
				r.Fatalf("sent %+v\ngot %+v: %v", sent, got, err)
			}
			again, err := rules.AppendMessage(nil, got)
			if err != nil || string(again) != string(text) {
				r.Fatalf("one message is\n%q and\n%q: %v", text, again, err)
			}
			cut := rapid.IntRange(0, len(text)-1).Draw(r, "cut")
			if err := rules.ParseMessage(text[:cut], got); err == nil {
				r.Fatalf("%d of %d bytes are a message", cut, len(text))
			}
		}
	})
}

func FuzzParseMessage(f *testing.F) {
	text, err := rules.AppendMessage(nil, &rules.Answer{Code: 201, Writes: []rules.Write{{Key: "a", Object: json.RawMessage("{}")}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Fuzz(func(t *testing.T, text []byte) {
		var a rules.Answer
		if rules.ParseMessage(text, &a) != nil {
			return
		}
		if _, err := rules.AppendMessage(nil, &a); err != nil {
			t.Error(err)
		}
	})
}
