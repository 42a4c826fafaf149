package client

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/flyball-io/flyball/object"
)

var (
	errNotUTF8   = errors.New("is not valid UTF-8")
	errNilObject = errors.New("object is nil")
	errNoVersion = errors.New("the object has no resourceVersion to lock on")
)

// segment returns the problem with one part of a URL path, or "". An empty part has none.
func segment(what, s string) string {
	if s == "" {
		return ""
	}
	if !utf8.ValidString(s) {
		return what + " " + errNotUTF8.Error()
	}
	// No function of the libraries for this is in all of their versions without being deprecated.
	if s == "." || s == ".." {
		return what + " may not be '" + s + "'"
	}
	if i := strings.IndexAny(s, "/%"); i >= 0 {
		return what + " may not contain '" + s[i:i+1] + "'"
	}
	return ""
}

// checkText returns an *ArgumentError for the first string in v that is not UTF-8, including map keys. A
// server would store it damaged, or fail to read the object again. checkText does not check []byte.
func checkText(v any) error {
	if field, text, bad := badText(reflect.ValueOf(v)); bad {
		return &ArgumentError{Argument: strings.TrimPrefix(field, "."), Problem: fmt.Sprintf("%q %v", text, errNotUTF8)}
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
