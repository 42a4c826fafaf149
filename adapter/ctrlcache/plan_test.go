package ctrlcache

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	toolscache "k8s.io/client-go/tools/cache"
	crcache "sigs.k8s.io/controller-runtime/pkg/cache"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flyball-io/flyball/option"
)

// show writes scopes as "a{x=1;metadata.name=m;1s}".
func show(s scopes) string {
	var all []string
	for _, namespace := range slices.Sorted(maps.Keys(s)) {
		c := s[namespace]
		var parts []string
		if c.LabelSelector != nil {
			parts = append(parts, c.LabelSelector.String())
		}
		if c.FieldSelector != nil {
			parts = append(parts, c.FieldSelector.String())
		}
		if c.SyncPeriod != nil {
			parts = append(parts, c.SyncPeriod.String())
		}
		if c.UnsafeDisableDeepCopy != nil {
			parts = append(parts, fmt.Sprint("unsafe=", *c.UnsafeDisableDeepCopy))
		}
		all = append(all, namespace+"{"+strings.Join(parts, ";")+"}")
	}
	return strings.Join(all, " ")
}

func ofPods(o crclient.Object) (schema.GroupVersionKind, bool, error) {
	key, err := keyOf(scheme.Scheme, o)
	return key.gvk, key.gvk.Kind != "Node", err
}

func TestPlan(t *testing.T) {
	label := func(s string) labels.Selector { return must(labels.Parse(s)) }
	field := fields.ParseSelectorOrDie
	minute, hour, yes := time.Minute, time.Hour, true
	pods, nodes := corev1.SchemeGroupVersion.WithKind("Pod"), corev1.SchemeGroupVersion.WithKind("Node")
	others := corev1.SchemeGroupVersion.WithKind("Secret")
	for _, tc := range []struct {
		name                 string
		o                    crcache.Options
		pods, others, global string
	}{
		{"nothing", crcache.Options{}, "{}", "{}", "{}"},
		{"defaults", crcache.Options{DefaultLabelSelector: label("a=1"), DefaultFieldSelector: field("metadata.name=m"), SyncPeriod: &hour, DefaultUnsafeDisableDeepCopy: &yes},
			"{a=1;metadata.name=m;1h0m0s;unsafe=true}", "{a=1;metadata.name=m;1h0m0s;unsafe=true}", "{a=1;metadata.name=m;1h0m0s;unsafe=true}"},
		{"namespaces", crcache.Options{DefaultNamespaces: map[string]crcache.Config{"x": {}, "y": {LabelSelector: label("b=1")}}, DefaultLabelSelector: label("a=1")},
			"x{a=1} y{b=1}", "x{a=1} y{b=1}", "{a=1}"},
		{"the rest of the namespaces", crcache.Options{DefaultNamespaces: map[string]crcache.Config{"x": {}, "y": {}, "": {FieldSelector: field("metadata.name=m")}}},
			"{metadata.namespace!=x,metadata.namespace!=y,metadata.name=m} x{} y{}", "{metadata.namespace!=x,metadata.namespace!=y,metadata.name=m} x{} y{}", "{}"},
		{"a kind", crcache.Options{DefaultLabelSelector: label("a=1"), SyncPeriod: &hour, ByObject: map[crclient.Object]crcache.ByObject{
			&corev1.Pod{}: {Label: label("p=1"), SyncPeriod: &minute}, &corev1.Node{}: {Field: field("metadata.name=n")},
		}}, "{p=1;1m0s}", "{a=1;1h0m0s}", "{a=1;metadata.name=n;1h0m0s}"},
		{"a kind in the namespaces of all", crcache.Options{
			DefaultNamespaces:    map[string]crcache.Config{"x": {LabelSelector: label("x=1")}, "y": {}},
			DefaultLabelSelector: label("a=1"),
			ByObject:             map[crclient.Object]crcache.ByObject{&corev1.Pod{}: {Label: label("p=1")}, &corev1.Node{}: {}},
		}, "x{x=1} y{p=1}", "x{x=1} y{a=1}", "{a=1}"}, // as the default cache does, not as its documentation says
		{"a kind in its own namespaces", crcache.Options{
			DefaultNamespaces: map[string]crcache.Config{"x": {LabelSelector: label("x=1")}},
			ByObject:          map[crclient.Object]crcache.ByObject{&corev1.Pod{}: {Namespaces: map[string]crcache.Config{"x": {}, "z": {LabelSelector: labels.Everything()}}}},
		}, "x{x=1} z{}", "x{x=1}", "{}"},
		{"a kind in all namespaces", crcache.Options{
			DefaultNamespaces: map[string]crcache.Config{"x": {LabelSelector: label("x=1")}}, DefaultLabelSelector: label("a=1"),
			ByObject: map[crclient.Object]crcache.ByObject{&corev1.Pod{}: {Namespaces: map[string]crcache.Config{}}},
		}, "{a=1}", "x{x=1}", "{a=1}"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p, err := newPlan(&tc.o, ofPods)
			if err != nil {
				t.Fatal(err)
			}
			if got := show(p.of(pods, false)); got != tc.pods {
				t.Errorf("Pods: %s, want %s", got, tc.pods)
			}
			if got := show(p.of(others, false)); got != tc.others {
				t.Errorf("others: %s, want %s", got, tc.others)
			}
			if got := show(p.of(nodes, true)); got != tc.global {
				t.Errorf("Nodes: %s, want %s", got, tc.global)
			}
		})
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestPlanRefuses(t *testing.T) {
	informer := func(toolscache.ListerWatcher, runtime.Object, time.Duration, toolscache.Indexers) toolscache.SharedIndexInformer {
		return nil
	}
	for _, tc := range []struct {
		name  string
		o     crcache.Options
		field string
		err   error
	}{
		{"NewInformer", crcache.Options{NewInformer: informer}, "NewInformer", errNewInformer},
		{"namespaces of a cluster-scoped kind", crcache.Options{ByObject: map[crclient.Object]crcache.ByObject{&corev1.Node{}: {Namespaces: map[string]crcache.Config{}}}}, "ByObject[*v1.Node].Namespaces", errNamespaces},
		{"a kind twice", crcache.Options{ByObject: map[crclient.Object]crcache.ByObject{&corev1.Pod{}: {}, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "x"}}: {}}}, "ByObject[*v1.Pod]", errTwice},
		{"a type without a kind", crcache.Options{ByObject: map[crclient.Object]crcache.ByObject{&metav1.PartialObjectMetadata{}: {}}}, "ByObject[*v1.PartialObjectMetadata]", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := newPlan(&tc.o, ofPods)
			bad, ok := errors.AsType[*option.Error](err)
			if !ok || bad.Field != tc.field || tc.err != nil && !errors.Is(err, tc.err) {
				t.Errorf("%v", err)
			}
		})
	}
}
