package clientgo

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	toolscache "k8s.io/client-go/tools/cache"
)

// setting is what a program can set on an informer of client-go, and nobody can read but by its private fields.
type setting struct {
	call, field string // a method of SharedIndexInformer, and the path of the field that it sets
}

// settings are those that an informer of a packed cache does not take over from one that only says what to list. A
// program sets them on the packed informer.
var settings = []setting{
	{"SetTransform", "transform"},
	{"SetWatchErrorHandler", "watchErrorHandler"},
	{"AddEventHandler", "processor.listeners"},
}

// resyncField is the field with the period for handlers without one of their own.
const resyncField = "defaultEventHandlerResyncPeriod"

var errInside = errors.New("set it on the informer that the factory returns: the function that makes an informer only says what to list, and with which indexes")

// checkSettings returns an error for a setting that would be lost.
func checkSettings(in toolscache.SharedIndexInformer) error {
	for _, s := range settings {
		if f := private(in, s.field); f.IsValid() && !empty(f) {
			return fmt.Errorf("%s was called: %w", s.call, errInside)
		}
	}
	return nil
}

// resyncPeriod returns the period that an informer was made with, or other if nothing is known of it.
func resyncPeriod(in toolscache.SharedIndexInformer, other time.Duration) time.Duration {
	if f := private(in, resyncField); f.IsValid() && f.CanInt() {
		return time.Duration(f.Int())
	}
	return other
}

func empty(v reflect.Value) bool {
	if v.Kind() == reflect.Map {
		return v.Len() == 0
	}
	return v.IsZero()
}

// private returns a field of the informer behind in, which types of the program may embed. It is not valid where there
// is none.
func private(in toolscache.SharedIndexInformer, path string) reflect.Value {
	v := reflect.ValueOf(in)
	for range maxWrapped {
		for v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer {
			v = v.Elem()
		}
		if v.Kind() != reflect.Struct {
			break
		}
		if f := fieldAt(v, path); f.IsValid() {
			return f
		}
		v = v.FieldByName("SharedIndexInformer")
	}
	return reflect.Value{}
}

// maxWrapped is how many types around an informer are looked through.
const maxWrapped = 8

func fieldAt(v reflect.Value, path string) reflect.Value {
	name, rest, more := strings.Cut(path, ".")
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct {
		return reflect.Value{}
	}
	f := v.FieldByName(name)
	if !more || !f.IsValid() {
		return f
	}
	return fieldAt(f, rest)
}
