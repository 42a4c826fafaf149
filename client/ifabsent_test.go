package client_test

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/livetest"
	"github.com/flyball-io/flyball/internal/testobj"
	"github.com/flyball-io/flyball/object"
)

// An apply with IfAbsent creates, or fails and changes nothing, forced or not: of a built-in kind, a
// custom resource and a cluster-scoped one.
func TestIfAbsentCreatesOrChangesNothing(t *testing.T) {
	ctx, c, ns := live(t)
	gadgets := schema.GroupVersionKind{Group: "gadgets.flyball.test", Version: "v1", Kind: "Gadget"}
	livetest.Define(t, c, testobj.CRD(gadgets, "gadgets"))
	widget := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"size": "s"}}}
	widget.SetGroupVersionKind(gadgets)
	widget.SetNamespace(ns)
	widget.SetName("w")
	cm := &corev1.ConfigMap{Data: map[string]string{"a": "1"}}
	cm.Namespace, cm.Name = ns, "c"
	node := &corev1.Namespace{}
	node.Name = ns + "-x"
	for _, o := range []object.Object{cm, widget, node} {
		apply := func(opts ...client.WriteOption) (object.Object, error) {
			op := client.Op{Verb: "apply", Object: o, Owner: "test"}
			for _, opt := range opts {
				opt.ApplyToWrite(&op)
			}
			return c.Write(ctx, op)
		}
		first, err := apply(client.IfAbsent{})
		if err != nil {
			t.Errorf("%T: %v", o, err)
			continue
		}
		labelled := o.DeepCopyObject().(object.Object)
		labelled.SetLabels(map[string]string{"a": "b"})
		o = labelled
		for _, opts := range [][]client.WriteOption{{client.IfAbsent{}}, {client.IfAbsent{}, client.Force{}}} {
			if _, err := apply(opts...); !isA[*client.AlreadyExistsError](err) || !isA[*client.ConflictError](err) {
				t.Errorf("%T: %v, want AlreadyExists", o, err)
			}
		}
		if now, err := apply(); err != nil || now.GetUID() != first.GetUID() || now.GetLabels()["a"] != "b" {
			t.Errorf("%T: %v", o, err)
		}
	}
	if _, err := client.Create(ctx, c, cm, client.IfAbsent{}); !isA[*client.ArgumentError](err) {
		t.Errorf("a create: %v", err)
	}
}

func isA[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}
