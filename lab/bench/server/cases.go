package main

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Names of cases.
const (
	caseStart       = "start"
	caseCreateMaps  = "create ConfigMaps, 1 client"
	caseCreateMaps8 = "create ConfigMaps, 8 clients"
	caseCreatePods  = "create Pods, 1 client"
	caseCreatePods8 = "create Pods, 8 clients"
	caseCreateOther = "create ConfigMaps, each with other data, 8 clients"
	caseGet         = "get a ConfigMap"
	caseGetPod      = "get a Pod"
	caseUpdate      = "update a ConfigMap"
	caseList        = "list, decoded by the client"
	caseListBytes   = "list"
	caseWatch       = "watch events as they are made, all watchers"
	caseMade        = "watch events of creates as they are made, all watchers"
	caseHistory     = "watch events of the past, all watchers"
	caseServer      = "memory of a server"
	casePods        = "memory of Pods"
	caseSnapshot    = "snapshot"
	caseRestore     = "restore"
)

// measure measures one contender, and adds the figures to a table.
func measure(ctx context.Context, c *contender, o options, t *table) error {
	if c.start > 0 {
		t.set(caseStart, c.name, "ms", float64(c.start)/1e6)
	}
	if c.config == nil || c.name != realOne {
		// A server has it already.
		err := c.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}})
		if client.IgnoreAlreadyExists(err) != nil {
			return err
		}
	}
	// Lists come first. A server in memory has one heap with the client, so whatever else it holds slows down the client.
	if err := list(ctx, c, o, t); err != nil {
		return err
	}
	for _, k := range []struct {
		name    string
		clients int
		make    func(i int) client.Object
	}{
		{caseCreateMaps, 1, func(i int) client.Object { return configMap(fmt.Sprintf("one-%06d", i), "v") }},
		{caseCreateMaps8, 8, func(i int) client.Object { return configMap(fmt.Sprintf("eight-%06d", i), "v") }},
		{caseCreateOther, 8, func(i int) client.Object { return configMap(fmt.Sprintf("other-%06d", i), fmt.Sprint(i)) }},
		{caseCreatePods, 1, func(i int) client.Object { return pod(fmt.Sprintf("one-%06d", i)) }},
		{caseCreatePods8, 8, func(i int) client.Object { return pod(fmt.Sprintf("eight-%06d", i)) }},
	} {
		rate, err := perSecond(ctx, o.time, k.clients, func(i int) error { return c.client.Create(ctx, k.make(i)) })
		if err != nil {
			return err
		}
		t.set(k.name, c.name, "1/s", rate)
	}
	if err := one(ctx, c, o, t); err != nil {
		return err
	}
	if c.config == nil {
		return nil
	}
	return fanOut(ctx, c, o, t)
}

// one measures reads and updates of one object.
func one(ctx context.Context, c *contender, o options, t *table) error {
	m, p := configMap("the-one", "v"), pod("the-one")
	for _, k := range []struct {
		name string
		made client.Object
	}{{caseGet, m}, {caseGetPod, p}} {
		if err := c.client.Create(ctx, k.made); err != nil {
			return err
		}
		key := client.ObjectKeyFromObject(k.made)
		gets, err := perSecond(ctx, o.time, 1, func(int) error { return c.client.Get(ctx, key, empty(k.made)) })
		if err != nil {
			return err
		}
		t.set(k.name, c.name, "µs", 1e6/gets)
	}
	updates, err := perSecond(ctx, o.time, 1, func(i int) error {
		m.Data["k"] = fmt.Sprint(i)
		return c.client.Update(ctx, m)
	})
	t.set(caseUpdate, c.name, "µs", 1e6/updates)
	return err
}

// empty returns an object of a type without fields.
func empty(o client.Object) client.Object {
	return reflect.New(reflect.TypeOf(o).Elem()).Interface().(client.Object)
}

func configMap(name, value string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{"app": "bench"}}, Data: map[string]string{"k": value}}
}

func pod(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{"app": "bench"}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "main", Image: "example.com/image:v1", Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}}, Env: []corev1.EnvVar{{Name: "MODE", Value: "bench"}},
		}}},
	}
}

// perSecond calls a function for a time d, from a number of goroutines, and returns the calls per second. The garbage of
// cases before is not collected in that time.
func perSecond(ctx context.Context, d time.Duration, clients int, call func(i int) error) (float64, error) {
	runtime.GC()
	begin := time.Now()
	n, err := calls(ctx, clients, func(int) bool { return time.Since(begin) < d }, call)
	return float64(n) / time.Since(begin).Seconds(), err
}

// each calls a function n times, from a number of goroutines.
func each(ctx context.Context, n, clients int, call func(i int) error) error {
	_, err := calls(ctx, clients, func(i int) bool { return i < n }, call)
	return err
}

func calls(ctx context.Context, clients int, more func(i int) bool, call func(i int) error) (int, error) {
	var next, done atomic.Int64
	errs := make([]error, clients)
	var wg sync.WaitGroup
	for g := range clients {
		wg.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if !more(i) {
					return
				}
				if errs[g] = call(i); errs[g] != nil {
					return
				}
				done.Add(1)
			}
		})
	}
	wg.Wait()
	return int(done.Load()), errors.Join(append(errs, ctx.Err())...)
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}
