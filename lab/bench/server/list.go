package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// list measures lists of many objects.
func list(ctx context.Context, c *contender, o options, t *table) error {
	const namespace = "many"
	if err := c.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		return err
	}
	if err := each(ctx, o.objects, 8, func(i int) error {
		m := configMap(fmt.Sprintf("m-%06d", i), "v")
		m.Namespace = namespace
		return c.client.Create(ctx, m)
	}); err != nil {
		return err
	}
	runtime.GC() // of what the creates have left
	var took []time.Duration
	for range 7 {
		var l corev1.ConfigMapList
		begin := time.Now()
		if err := c.client.List(ctx, &l, client.InNamespace(namespace)); err != nil {
			return err
		}
		took = append(took, time.Since(begin))
		if len(l.Items) < o.objects {
			return fmt.Errorf("a list has %d objects, want %d", len(l.Items), o.objects)
		}
	}
	t.set(caseList, c.name, "ms", float64(median(took))/1e6)
	if c.config == nil {
		return nil
	}
	rt, url, err := c.transport()
	if err != nil {
		return err
	}
	took = nil
	for range 7 {
		begin := time.Now()
		if err := read(ctx, rt, url+"/api/v1/namespaces/"+namespace+"/configmaps"); err != nil {
			return err
		}
		took = append(took, time.Since(begin))
	}
	t.set(caseListBytes, c.name, "ms", float64(median(took))/1e6)
	return nil
}

// read reads a list in protobuf, and drops it: the figure is about the server.
func read(ctx context.Context, rt http.RoundTripper, url string) error {
	body, err := get(ctx, rt, url, "application/vnd.kubernetes.protobuf")
	if err != nil {
		return err
	}
	defer body.Close()
	_, err = io.Copy(io.Discard, body)
	return err
}
