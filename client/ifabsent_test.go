package client_test

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/object"
)

// An apply with IfAbsent creates, or fails and changes nothing, forced or not: of a built-in kind, a
// custom resource and a cluster-scoped one.
func TestIfAbsent(t *testing.T) {
	ctx, c, ns := live(t)
	gadgets := gadgets(t, ctx, c)
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

// gadgets makes a kind of custom resources that may hold anything, and returns it once the server serves it.
func gadgets(t *testing.T, ctx context.Context, c *client.Live) schema.GroupVersionKind {
	t.Helper()
	gvk := schema.GroupVersionKind{Group: "gadgets.flyball.test", Version: "v1", Kind: "Gadget"}
	crd := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "gadgets." + gvk.Group},
		"spec": map[string]any{
			"group": gvk.Group, "scope": "Namespaced",
			"names": map[string]any{"plural": "gadgets", "singular": "gadget", "kind": "Gadget", "listKind": "GadgetList"},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
			}},
		},
	}}
	must(client.Apply(ctx, c, crd, "test"))(t)
	w := must(client.Watch[unstructured.Unstructured](ctx, c, client.OfKind(crd.GroupVersionKind()), client.MatchingFields{"metadata.name": crd.GetName()}))(t)
	for ev, err := range w.Events() {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Object != nil && established(ev.Object) {
			break
		}
	}
	for { // the server announces a kind a moment after it has established it
		probe := &unstructured.Unstructured{}
		probe.SetGroupVersionKind(gvk)
		err := c.Get(ctx, object.Key{Namespace: "default", Name: "none"}, probe, client.GetOptions{})
		if isA[*client.NotFoundError](err) {
			return gvk
		}
		if !isA[*client.NotServedError](err) {
			t.Fatal(err)
		}
	}
}
