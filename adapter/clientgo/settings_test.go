package clientgo_test

import (
	"io"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/flyball-io/flyball/adapter/clientgo"
)

func ignore(o any) (any, error) { return o, nil }

// inside has, for each method of an informer, a call of it in a function that only says what to list. Those without a
// call read, or run the informer.
var inside = map[string]struct {
	call func(toolscache.SharedIndexInformer) error
	// honoured says that the packed informer has it, too. Otherwise the error names the method.
	honoured bool
}{
	"SetTransform": {func(in toolscache.SharedIndexInformer) error { return in.SetTransform(ignore) }, false},
	"SetWatchErrorHandler": {func(in toolscache.SharedIndexInformer) error {
		return in.SetWatchErrorHandler(func(*toolscache.Reflector, error) {})
	}, false},
	"SetWatchErrorHandlerWithContext": {func(in toolscache.SharedIndexInformer) error {
		return in.SetWatchErrorHandlerWithContext(toolscache.DefaultWatchErrorHandler)
	}, false},
	"AddEventHandler": {func(in toolscache.SharedIndexInformer) error {
		_, err := in.AddEventHandler(toolscache.ResourceEventHandlerFuncs{})
		return err
	}, false},
	"AddEventHandlerWithResyncPeriod": {func(in toolscache.SharedIndexInformer) error {
		_, err := in.AddEventHandlerWithResyncPeriod(toolscache.ResourceEventHandlerFuncs{}, time.Hour)
		return err
	}, false},
	"AddEventHandlerWithOptions": {func(in toolscache.SharedIndexInformer) error {
		_, err := in.AddEventHandlerWithOptions(toolscache.ResourceEventHandlerFuncs{}, toolscache.HandlerOptions{})
		return err
	}, false},
	"AddIndexers": {func(in toolscache.SharedIndexInformer) error {
		return in.AddIndexers(toolscache.Indexers{"x": func(any) ([]string, error) { return nil, nil }})
	}, true},

	"RemoveEventHandler": {}, "GetStore": {}, "GetController": {}, "Run": {}, "RunWithContext": {}, "HasSynced": {}, "HasSyncedChecker": {},
	"LastSyncResourceVersion": {}, "IsStopped": {}, "GetIndexer": {},
}

// embedding is an informer of a program's own type.
type embedding struct {
	name string
	toolscache.SharedIndexInformer
}

// Each method of an informer that sets something, called in a function of InformerFor, is honoured or an error that
// names it: nothing is lost without a word. A method that client-go adds is one to think of.
func TestSettingsInsideTheFunctionAreNotLost(t *testing.T) {
	methods := reflect.TypeFor[toolscache.SharedIndexInformer]()
	for i := range methods.NumMethod() {
		name := methods.Method(i).Name
		of, known := inside[name]
		if !known {
			t.Errorf("%s is new: say what becomes of it", name)
		}
		if of.call == nil {
			continue
		}
		for _, wrap := range []func(toolscache.SharedIndexInformer) toolscache.SharedIndexInformer{
			func(in toolscache.SharedIndexInformer) toolscache.SharedIndexInformer { return in },
			func(in toolscache.SharedIndexInformer) toolscache.SharedIndexInformer { return embedding{name, in} },
			func(in toolscache.SharedIndexInformer) toolscache.SharedIndexInformer {
				return &embedding{name, embedding{name, in}}
			},
		} {
			in := made(t, func(c kubernetes.Interface, resync time.Duration) toolscache.SharedIndexInformer {
				in := coreinformers.NewPodInformer(c, "", resync, toolscache.Indexers{})
				if err := of.call(in); err != nil {
					t.Error(err)
				}
				return wrap(in)
			})
			_, err := in.AddEventHandler(toolscache.ResourceEventHandlerFuncs{})
			asked := strings.TrimSuffix(name, "WithContext")
			if strings.HasPrefix(name, "AddEventHandler") {
				asked = "AddEventHandler"
			}
			if (err == nil) != of.honoured || err != nil && !strings.Contains(err.Error(), asked+" was called: set it on the informer") {
				t.Errorf("%s: %v", name, err)
			}
			if _, ok := in.GetIndexer().GetIndexers()["x"]; of.honoured && !ok {
				t.Errorf("%s: its index is not there", name)
			}
		}
	}
}

// made returns the informer that a factory makes of a function.
func made(t *testing.T, f func(kubernetes.Interface, time.Duration) toolscache.SharedIndexInformer) toolscache.SharedIndexInformer {
	t.Helper()
	quiet := clientgo.With(clientgo.Options{Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	factory, err := clientgo.NewSharedInformerFactory(&rest.Config{Host: "http://127.0.0.1:1"}, time.Minute, quiet)
	if err != nil {
		t.Fatal(err)
	}
	return factory.InformerFor(&corev1.Pod{}, f)
}

// The options of client-go's factory all have an equal here.
func TestEveryOptionOfTheFactory(t *testing.T) {
	known := []string{"client", "namespace", "tweakListOptions", "lock", "defaultResync", "customResync", "transform", "informerName",
		"informers", "startedInformers", "wg", "shuttingDown"}
	factory := reflect.TypeOf(informers.NewSharedInformerFactory(nil, 0)).Elem()
	for i := range factory.NumField() {
		if name := factory.Field(i).Name; !slices.Contains(known, name) {
			t.Errorf("%s is new: say what becomes of its option", name)
		}
	}
}
