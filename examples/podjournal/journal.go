package main

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/run"
	"github.com/flyball-io/flyball/workqueue"
)

const (
	enabled = "journal.flyball.dev/enabled" // label of Pods that want a journal
	journal = "journal.flyball.dev/journal" // label of the ConfigMaps that are journals
	suffix  = "-journal"                    // of their names, after that of the Pod
	workers = 4
)

type keeper struct {
	client   *client.Live
	pods     informer.Lister[corev1.Pod]
	journals informer.Lister[corev1.ConfigMap]
	queue    *workqueue.Queue[object.Key, struct{}] // keys of Pods
}

// keep works until ctx ends: two informers put the keys of Pods into a queue, workers take them.
func keep(ctx context.Context, c *client.Live, namespace string) (err error) {
	k := &keeper{client: c}
	if k.queue, err = workqueue.New(workqueue.Options[object.Key, struct{}]{}); err != nil {
		return err
	}
	// A Pod whose label goes leaves the selection: to this informer it is deleted.
	pods, err := follow(ctx, c, namespace, enabled, &k.pods, func(p *corev1.Pod) { k.queue.Add(object.KeyOf(p)) })
	if err != nil {
		return err
	}
	// Journals tell of Pods that went while nobody watched, and of what others do to journals.
	journals, err := follow(ctx, c, namespace, journal, &k.journals, func(m *corev1.ConfigMap) {
		k.queue.Add(object.Key{Namespace: m.Namespace, Name: strings.TrimSuffix(m.Name, suffix)})
	})
	if err != nil {
		return err
	}
	g, _ := run.New(ctx)
	g.Go("pods", pods.Run)
	g.Go("journals", journals.Run)
	for range workers {
		g.Go("worker", func(ctx context.Context) error {
			if pods.WaitForSync(ctx) == nil && journals.WaitForSync(ctx) == nil {
				k.work(ctx)
			}
			return nil
		})
	}
	return g.Wait()
}

// follow makes a cache of one namespace and one label, opens a kind in it, and calls f for every change of
// an object.
func follow[T any, P object.Ptr[T]](ctx context.Context, c *client.Live, namespace, label string, l *informer.Lister[T], f func(*T)) (*cache.Cache, error) {
	objects, err := cache.New(cache.Connect(c), cache.Options{
		Namespaces: []string{namespace}, Labels: labels.Set{label: "true"}.AsSelector(),
	})
	if err != nil {
		return nil, err
	}
	all, err := cache.Open[T, P](ctx, objects)
	if err != nil {
		return nil, err
	}
	*l = all.Lister()
	_, err = all.AddHandler(informer.Handler[T]{
		OnAdd:    func(o *T, _ bool) { f(o) },
		OnUpdate: func(_, o *T) { f(o) },
		OnDelete: func(o *T, _ bool) { f(o) },
	})
	return objects, err
}

// work takes keys until ctx ends.
func (k *keeper) work(ctx context.Context) {
	for {
		item, ok := k.queue.Get(ctx)
		if !ok {
			return
		}
		if err := k.sync(ctx, item.Key); err == nil {
			k.queue.Forget(item.Key)
		} else {
			// The informers may lag behind our own last write. That passes in no time.
			if attempt := k.queue.NumRequeues(item.Key) + 1; attempt > 2 && ctx.Err() == nil {
				slog.Warn("journal is not up to date", "pod", item.Key, "attempt", attempt, "err", err)
			}
			k.queue.Retry(item)
		}
		k.queue.Done(item.Key)
	}
}

// sync makes the journal of one Pod what it should be.
func (k *keeper) sync(ctx context.Context, key object.Key) error {
	have, err := k.journals.Get(object.Key{Namespace: key.Namespace, Name: key.Name + suffix})
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	p, gone := k.pods.Get(key)
	switch {
	case client.IgnoreNotFound(gone) != nil:
		return gone
	case gone != nil && have == nil:
		return nil
	case gone != nil:
		slog.Info("removing", "journal", object.KeyOf(have))
		return client.IgnoreNotFound(client.Delete(ctx, k.client, have, client.IfUID(have.UID)))
	}
	want := entry(p)
	if have == nil {
		slog.Info("creating", "journal", object.KeyOf(want), "phase", want.Data["phase"])
		_, err := client.Create(ctx, k.client, want) // fails if someone else has one of that name
		return err
	}
	if maps.Equal(have.Data, want.Data) && metav1.IsControlledBy(have, p) {
		return nil
	}
	slog.Info("updating", "journal", object.KeyOf(want), "phase", want.Data["phase"])
	have.Data, have.OwnerReferences = want.Data, want.OwnerReferences
	_, err = client.Update(ctx, k.client, have) // fails if we do not know the latest version
	return err
}

// entry is the journal of a Pod. The Pod owns it, so that it goes with the Pod whether we run or
// not.
func entry(p *corev1.Pod) *corev1.ConfigMap {
	var restarts int32
	for _, c := range p.Status.ContainerStatuses {
		restarts += c.RestartCount
	}
	started := ""
	if t := p.Status.StartTime; t != nil {
		started = t.UTC().Format(time.RFC3339)
	}
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: p.Namespace, Name: p.Name + suffix, Labels: map[string]string{journal: "true"},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(p, corev1.SchemeGroupVersion.WithKind("Pod"))},
		},
		Data: map[string]string{
			"phase": string(p.Status.Phase), "node": p.Spec.NodeName, "started": started, "restarts": fmt.Sprint(restarts),
		},
	}
}
