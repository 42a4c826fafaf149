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

// InvalidKeyError is the error for a namespace or name that cannot be one. Nothing was sent.
type InvalidKeyError struct {
	// Verb, Kind and Key of the call. Kind may be a resource, where no kind is known.
	Verb Verb
	Kind string
	Key  object.Key
	// Problem with the key.
	Problem string
}

func (e *InvalidKeyError) Error() string {
	return fmt.Sprintf("%s %s %q: %s", e.Verb, e.Kind, e.Key.String(), e.Problem)
}

// InvalidTextError is the error for an object with a string that is not UTF-8, which the server would
// store damaged or refuse to read again. Nothing was sent.
type InvalidTextError struct {
	// Field is the path of the string by the names of the Go fields, map keys and indexes.
	Field string
	// Text is the string.
	Text string
}

func (e *InvalidTextError) Error() string {
	return fmt.Sprintf("%s: %q %v", e.Field, e.Text, errNotUTF8)
}

// segment says what is wrong with one part of a URL path, or "".
func segment(what, s string) string {
	if !utf8.ValidString(s) {
		return what + " " + errNotUTF8.Error()
	}
	for _, problem := range content.IsPathSegmentName(s) {
		return what + " " + problem
	}
	return ""
}

// checkText finds the first string in v that is not UTF-8, map keys included; []byte may hold
// anything.
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

// isNil reports a nil interface and a nil pointer in one.
func isNil(o object.Object) bool {
	if o == nil {
		return true
	}
	v := reflect.ValueOf(o)
	return v.Kind() == reflect.Pointer && v.IsNil()
}
