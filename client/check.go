package client

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/validate/content"

	"github.com/flyball-io/flyball/object"
)

var (
	errNotUTF8   = errors.New("is not valid UTF-8")
	errNilObject = errors.New("object is nil")
	errNoVersion = errors.New("the object has no resourceVersion to lock on")
)

// InvalidKeyError is the error for an invalid or missing namespace or name. Nothing was sent.
type InvalidKeyError struct {
	// Verb, Kind and Key are those of the call. Kind may be a resource if the kind is unknown.
	Verb Verb
	Kind string
	Key  object.Key
	// Problem says what is wrong with the key.
	Problem string
}

func (e *InvalidKeyError) Error() string {
	return fmt.Sprintf("%s %s %q: %s", e.Verb, e.Kind, e.Key.String(), e.Problem)
}

// InvalidTextError is the error for an object with a string that is not UTF-8. A server would store the
// string damaged, or fail to read the object again. Nothing was sent.
type InvalidTextError struct {
	// Field is the path of the string, made of Go field names, map keys and indexes.
	Field string
	// Text is the string.
	Text string
}

func (e *InvalidTextError) Error() string {
	return fmt.Sprintf("%s: %q %v", e.Field, e.Text, errNotUTF8)
}

// segment returns the problem with one part of a URL path, or "".
func segment(what, s string) string {
	if !utf8.ValidString(s) {
		return what + " " + errNotUTF8.Error()
	}
	for _, problem := range content.IsPathSegmentName(s) {
		return what + " " + problem
	}
	return ""
}

// checkText returns an *InvalidTextError for the first string in v that is not UTF-8, including map
// keys. It does not check []byte.
func checkText(v any) error {
	if field, text, bad := badText(reflect.ValueOf(v)); bad {
		if field != "" && field[0] == '.' {
			field = field[1:]
		}
		return &InvalidTextError{Field: field, Text: text}
	}
	return nil
}

func badText(v reflect.Value) (field, text string, bad bool) {
	switch v.Kind() {
	case reflect.String:
		if s := v.String(); !utf8.ValidString(s) {
			return "", s, true
		}
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			return badText(v.Elem())
		}
	case reflect.Struct:
		t := v.Type()
		for i := range t.NumField() {
			if f := t.Field(i); f.IsExported() && mayHoldText(f.Type) {
				if field, text, bad = badText(v.Field(i)); bad {
					return "." + f.Name + field, text, true
				}
			}
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			if _, text, bad = badText(it.Key()); bad {
				return "[" + strconv.Quote(text) + "]", text, true
			}
			if field, text, bad = badText(it.Value()); bad {
				return fmt.Sprintf("[%v]%s", it.Key(), field), text, true
			}
		}
	case reflect.Slice, reflect.Array:
		if !mayHoldText(v.Type().Elem()) {
			return "", "", false
		}
		for i := range v.Len() {
			if field, text, bad = badText(v.Index(i)); bad {
				return fmt.Sprintf("[%d]%s", i, field), text, true
			}
		}
	}
	return "", "", false
}

func mayHoldText(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.String, reflect.Pointer, reflect.Interface, reflect.Struct, reflect.Map, reflect.Slice, reflect.Array:
		return true
	}
	return false
}

// isNil reports whether o is a nil interface or has a nil pointer.
func isNil(o object.Object) bool {
	if o == nil {
		return true
	}
	v := reflect.ValueOf(o)
	return v.Kind() == reflect.Pointer && v.IsNil()
}
