package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
)

// awaitReadyz returns when the API server says that it is ready. It has no
// event for that, so we ask.
func awaitReadyz(ctx context.Context, client kubernetes.Interface) error {
	for {
		_, err := client.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for the API server: %w (last answer: %w)", context.Cause(ctx), err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// createNodes creates the nodes that are missing and returns the names of
// all n.
func createNodes(ctx context.Context, client kubernetes.Interface, n int) ([]string, error) {
	room := corev1.ResourceList{
		corev1.ResourceCPU:              resource.MustParse("1M"),
		corev1.ResourceMemory:           resource.MustParse("1Pi"),
		corev1.ResourceEphemeralStorage: resource.MustParse("1Pi"),
		corev1.ResourcePods:             resource.MustParse("1M"),
	}
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("node-%d", i)
		node := &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{
				Name:        names[i],
				Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"},
				Labels: map[string]string{
					corev1.LabelHostname:   names[i],
					corev1.LabelOSStable:   "linux",
					corev1.LabelArchStable: "amd64",
					"type":                 "kwok",
				},
			},
			Status: corev1.NodeStatus{Capacity: room, Allocatable: room},
		}
		_, err := client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return nil, fmt.Errorf("node %s: %w", names[i], err)
		}
	}
	return names, nil
}

// awaitNodes returns when all named nodes are Ready.
func awaitNodes(ctx context.Context, client kubernetes.Interface, names []string) error {
	missing := map[string]bool{}
	for _, name := range names {
		missing[name] = true
	}
	if len(missing) == 0 {
		return nil
	}
	return await(ctx, "nodes", client.CoreV1().Nodes().Watch, metav1.ListOptions{}, func(ev watch.Event) bool {
		node, ok := ev.Object.(*corev1.Node)
		if !ok {
			return false
		}
		for _, c := range node.Status.Conditions {
			if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
				delete(missing, node.Name)
			}
		}
		return len(missing) == 0
	})
}

// awaitDefaultAccount returns when Pods can be created in the namespace
// "default": admission refuses them before its service account exists.
func awaitDefaultAccount(ctx context.Context, client kubernetes.Interface) error {
	named := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", "default").String()}
	return await(ctx, "default service account", client.CoreV1().ServiceAccounts("default").Watch, named, func(ev watch.Event) bool {
		return ev.Type == watch.Added
	})
}

// await watches until an event satisfies done. A watch without a version
// begins with what exists.
func await(ctx context.Context, what string, open func(context.Context, metav1.ListOptions) (watch.Interface, error), opts metav1.ListOptions, done func(watch.Event) bool) error {
	for {
		w, err := open(ctx, opts)
		if err != nil {
			return fmt.Errorf("waiting for %s: %w", what, err)
		}
		for ev := range w.ResultChan() {
			if done(ev) {
				w.Stop()
				return nil
			}
		}
		if ctx.Err() != nil {
			return fmt.Errorf("waiting for %s: %w", what, context.Cause(ctx))
		}
	}
}
