package ctrlcache

import (
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	toolscache "k8s.io/client-go/tools/cache"
	crcache "sigs.k8s.io/controller-runtime/pkg/cache"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"
)

// accepted are settings without an effect that a program can see. README.md says so.
var accepted = []string{"EnableWatchBookmarks"}

// sample returns a value for a setting.
func sample(t *testing.T, typ reflect.Type) reflect.Value {
	t.Helper()
	yes, hour := true, time.Hour
	for _, v := range []any{
		labels.SelectorFromSet(labels.Set{"a": "b"}), fields.OneTermEqualSelector("metadata.name", "n"), &yes, &hour,
		toolscache.TransformFunc(func(o any) (any, error) { return o, nil }),
	} {
		if v := reflect.ValueOf(v); v.Type().AssignableTo(typ) {
			return v
		}
	}
	t.Fatalf("no value of a %s: the setting is new", typ)
	return reflect.Value{}
}

// field finds the field of one of the names.
func field(t *testing.T, of any, names ...string) reflect.Value {
	t.Helper()
	for _, name := range names {
		if f := reflect.ValueOf(of).Elem().FieldByName(name); f.IsValid() {
			return f
		}
	}
	t.Fatalf("a %T has none of %q", of, names)
	return reflect.Value{}
}

// Every setting of a kind comes to its watch from each of the four places where it can be set: a setting that
// controller-runtime adds fails here until it is honoured, or said to be accepted.
func TestEverySettingComesToItsWatch(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	config := reflect.TypeFor[crcache.Config]()
	for i := range config.NumField() {
		name := config.Field(i).Name
		if slices.Contains(accepted, name) {
			if !strings.Contains(string(readme), "`Default"+name+"` and its like | accepted") {
				t.Errorf("README.md does not say that %s is accepted", name)
			}
			continue
		}
		want := sample(t, config.Field(i).Type)
		for place, set := range map[string]func() crcache.Options{
			"default": func() (o crcache.Options) {
				field(t, &o, "Default"+name, name).Set(want)
				return o
			},
			"kind": func() crcache.Options {
				by := crcache.ByObject{}
				field(t, &by, name, strings.TrimSuffix(name, "Selector")).Set(want)
				return crcache.Options{ByObject: map[crclient.Object]crcache.ByObject{&corev1.Pod{}: by}}
			},
			"namespace": func() crcache.Options {
				c := crcache.Config{}
				field(t, &c, name).Set(want)
				return crcache.Options{DefaultNamespaces: map[string]crcache.Config{"x": c}}
			},
			"namespace of a kind": func() crcache.Options {
				c := crcache.Config{}
				field(t, &c, name).Set(want)
				return crcache.Options{ByObject: map[crclient.Object]crcache.ByObject{&corev1.Pod{}: {Namespaces: map[string]crcache.Config{"x": c}}}}
			},
		} {
			o := set()
			p, err := newPlan(&o, ofPods)
			if err != nil {
				t.Fatal(err)
			}
			for namespace, got := range p.of(corev1.SchemeGroupVersion.WithKind("Pod"), false) {
				if is := field(t, &got, name); !same(is, want) {
					t.Errorf("%s, set by %s: the watch in %q has %v, want %v", name, place, namespace, is, want)
				}
			}
		}
	}
}

func same(a, b reflect.Value) bool {
	if a.Kind() == reflect.Func {
		return a.Pointer() == b.Pointer()
	}
	return reflect.DeepEqual(a.Interface(), b.Interface())
}

// These are the other settings of controller-runtime's cache. Each has a test of its own.
func TestNoSettingIsNew(t *testing.T) {
	for _, of := range []struct {
		what  any
		known []string
	}{
		{crcache.Options{}, []string{
			"HTTPClient", "Scheme", "Mapper", "SyncPeriod", "ReaderFailOnMissingInformer", "DefaultNamespaces", "DefaultLabelSelector", "DefaultFieldSelector",
			"DefaultTransform", "DefaultWatchErrorHandler", "DefaultUnsafeDisableDeepCopy", "DefaultEnableWatchBookmarks", "ByObject", "NewInformer",
		}},
		{crcache.ByObject{}, []string{"Namespaces", "Label", "Field", "Transform", "UnsafeDisableDeepCopy", "EnableWatchBookmarks", "SyncPeriod"}},
		{crcache.InformerGetOptions{}, []string{"BlockUntilSynced"}},
		{toolscache.HandlerOptions{}, []string{"Logger", "ResyncPeriod"}},
	} {
		typ := reflect.TypeOf(of.what)
		for i := range typ.NumField() {
			if name := typ.Field(i).Name; !slices.Contains(of.known, name) {
				t.Errorf("%s.%s is new: say what becomes of it", typ, name)
			}
		}
	}
}

// Each setter of an informer is honoured, or an error that names it.
func TestEverySetterOfAnInformer(t *testing.T) {
	in := &shared{Informer: &Informer{}}
	for name, err := range map[string]error{
		"SetTransform": in.SetTransform(nil), "SetWatchErrorHandler": in.SetWatchErrorHandler(nil), "SetWatchErrorHandlerWithContext": in.SetWatchErrorHandlerWithContext(nil),
	} {
		if err == nil || !strings.Contains(err.Error(), name+" of the informer") {
			t.Errorf("%s: %v", name, err)
		}
	}
	known := []string{
		"SetTransform", "SetWatchErrorHandler", "SetWatchErrorHandlerWithContext", "AddEventHandler", "AddEventHandlerWithResyncPeriod", "AddEventHandlerWithOptions",
		"AddIndexers", "RemoveEventHandler", "GetStore", "GetController", "Run", "RunWithContext", "HasSynced", "HasSyncedChecker", "LastSyncResourceVersion", "IsStopped", "GetIndexer",
	}
	methods := reflect.TypeFor[toolscache.SharedIndexInformer]()
	for i := range methods.NumMethod() {
		if name := methods.Method(i).Name; !slices.Contains(known, name) {
			t.Errorf("%s is new: say what becomes of it", name)
		}
	}
}
