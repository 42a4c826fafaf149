package child_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"

	corev1 "k8s.io/api/core/v1"
	selectors "k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/child"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/object"
)

// labelled is a client with a cache of the Secrets that have a label. It asks the server for live reads.
type labelled struct {
	reads
	asked int
}

func (l *labelled) Get(ctx context.Context, key object.Key, into object.Object, o client.GetOptions) error {
	if o.Live {
		l.asked++
		return l.Live.Get(ctx, key, into, o)
	}
	return l.reads.Get(ctx, key, into, o)
}

func newLabelled(t *testing.T, c *cluster) *labelled {
	t.Helper()
	shared, err := cache.New(cache.Connect(c.Live), cache.Options{Kinds: []cache.KindOptions{
		{Kind: corev1.SchemeGroupVersion.WithKind("Secret"), Labels: selectors.SelectorFromSet(selectors.Set{"app": "guests"})},
	}})
	c.check(err)
	_, err = shared.Open(t.Context(), &corev1.Secret{}, client.Selection{})
	c.check(err)
	c.run(shared)
	return &labelled{reads: reads{c.Live, shared}}
}

func secret(name, password string, labels map[string]string) *corev1.Secret {
	s := &corev1.Secret{StringData: map[string]string{"password": password}}
	s.Name, s.Labels = name, labels
	return s
}

// Ensure does not take over a Secret of others that a cache of labelled objects does not hold, by force or
// not. So Prune does not delete it later.
func TestStrangersOutsideTheCache(t *testing.T) {
	for name, opts := range map[string][]child.Option{"plain": nil, "forced": {child.Force()}} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			l := newLabelled(t, c)
			theirs := secret("front", "theirs", nil)
			theirs.Namespace = c.ns
			made, err := client.Create(t.Context(), c.Live, theirs)
			c.check(err)
			for _, desired := range []*corev1.Secret{
				secret("front", "ours", map[string]string{"app": "guests"}),
				secret("front", "ours", nil),
				{ObjectMeta: secret("front", "", nil).ObjectMeta, Data: map[string][]byte{"more": []byte("x")}}, // no field conflicts
			} {
				got, did, err := child.Ensure(t.Context(), l, c.owner, desired, opts...)
				if e, taken := errors.AsType[*child.TakenError](err); !taken || e.By != nil || did != child.Unchanged || got != nil {
					t.Errorf("%v, %v; want a TakenError", did, err)
				}
			}
			now, err := client.Get[corev1.Secret](t.Context(), c.Live, object.KeyOf(made))
			c.check(err)
			if now.ResourceVersion != made.ResourceVersion {
				t.Errorf("it was changed: %q, owners %v", now.Data["password"], now.OwnerReferences)
			}
			if _, err := child.Prune(t.Context(), l, c.owner, func(*corev1.Secret) bool { return false }); err != nil {
				t.Error(err)
			}
			if _, err = client.Get[corev1.Secret](t.Context(), c.Live, object.KeyOf(made)); err != nil {
				t.Errorf("it was pruned: %v", err)
			}

			// With Adopt it is compared with the object on the server.
			got, did, err := child.Ensure(t.Context(), l, c.owner, secret("front", "theirs", nil), append(opts, child.Adopt())...)
			if err != nil || did != child.Updated || got.UID != made.UID {
				t.Fatalf("adopting: %v, %v", did, err)
			}
			if _, did, err := child.Ensure(t.Context(), l, c.owner, secret("front", "theirs", nil), opts...); err != nil || did != child.Unchanged {
				t.Errorf("a child outside of the cache: %v, %v", did, err)
			}
		})
	}
}

// racing creates an object right after the server was asked for it.
type racing struct {
	*cluster
	make func()
}

func (r *racing) Get(ctx context.Context, key object.Key, into object.Object, o client.GetOptions) error {
	if !o.Live {
		return client.NewNotFound(client.Call{Verb: "get", Key: key})
	}
	err := r.Live.Get(ctx, key, into, o)
	r.make()
	return err
}

// An object that is created between the get and the apply is not changed.
func TestStrangersThatAreQuicker(t *testing.T) {
	for name, opts := range map[string][]child.Option{"plain": nil, "forced": {child.Force()}} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			other := c.parent("other")
			for i, made := range []func(*corev1.Secret){
				func(*corev1.Secret) {}, // by somebody
				func(s *corev1.Secret) { c.check(child.Own(other, s, c.Scheme())) },   // by another owner
				func(s *corev1.Secret) { c.check(child.Own(c.owner, s, c.Scheme())) }, // by ourselves
			} {
				theirs := secret(fmt.Sprintf("s%d", i), "theirs", nil)
				theirs.Namespace = c.ns
				made(theirs)
				var uid types.UID
				r := &racing{c, func() {
					if uid == "" {
						got, err := client.Create(t.Context(), c.Live, theirs)
						c.check(err)
						uid = got.UID
					}
				}}
				_, did, err := child.Ensure(t.Context(), r, c.owner, secret(theirs.Name, "theirs", nil), opts...)
				e, taken := errors.AsType[*child.TakenError](err)
				unowned, owned := taken && e.By == nil, taken && e.By != nil
				if unowned != (i == 0) || owned != (i == 1) || i == 2 && (err != nil || did != child.Updated) {
					t.Errorf("%d: %v, %v", i, did, err)
				}
				now, err := client.Get[corev1.Secret](t.Context(), c.Live, object.Key{Namespace: c.ns, Name: theirs.Name})
				c.check(err)
				if now.UID != uid || i < 2 && len(now.ManagedFields) != 1 {
					t.Errorf("%d: it was changed by %v", i, now.ManagedFields)
				}
			}
		})
	}
}

// A program without permission to get the kind, or without a server behind its reads, creates its children
// and takes over nothing.
func TestProgramsThatCannotReadTakeOverNothing(t *testing.T) {
	for name, refusal := range map[string]error{
		"forbidden": &client.ForbiddenError{}, "no server": fmt.Errorf("cache: %w", client.ErrNotLive),
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			s := refusing{c, refusal}
			if _, did, err := child.Ensure(t.Context(), s, c.owner, secret("front", "ours", nil)); err != nil || did != child.Created {
				t.Fatalf("%v, %v", did, err)
			}
			_, _, err := child.Ensure(t.Context(), s, c.owner, secret("front", "ours", nil), child.Force())
			if _, exists := errors.AsType[*client.AlreadyExistsError](err); !exists {
				t.Errorf("it cannot be seen: %v", err)
			}
			if len(c.writes) != 2 {
				t.Errorf("sent %q", c.writes)
			}
		})
	}
}

// refusing finds no object, and has no server to ask.
type refusing struct {
	*cluster
	err error
}

func (r refusing) Get(_ context.Context, key object.Key, _ object.Object, o client.GetOptions) error {
	if o.Live {
		return r.err
	}
	return client.NewNotFound(client.Call{Verb: "get", Key: key})
}

// Prune keeps a child that has another controller since the cache saw it. It deletes one that only has
// another version.
func TestPruneReadsAChangedChildAgain(t *testing.T) {
	c := newCluster(t)
	view := map[string]*corev1.Secret{}
	for _, name := range []string{"given", "changed", "wanted"} {
		view[name] = ensure(c, secret(name, "ours", nil), child.Created)
		change := `{"metadata":{"labels":{"a":"b"}}}`
		switch name {
		case "given":
			change = `{"metadata":{"ownerReferences":null}}`
		case "wanted":
			change = `{"metadata":{"labels":{"wanted":"yes"}}}`
		}
		_, err := client.Patch(t.Context(), c.Live, view[name], client.MergePatch(change))
		c.check(err)
	}
	for name, want := range map[string]int{"given": 0, "changed": 1, "wanted": 0} {
		gone, err := child.Prune(t.Context(), seeing{c, view[name]}, c.owner, func(s *corev1.Secret) bool { return s.Labels["wanted"] == "yes" })
		if err != nil || len(gone) != want {
			t.Errorf("%s: pruned %v, %v", name, gone, err)
		}
	}
}

// seeing lists one Secret.
type seeing struct {
	*cluster
	view *corev1.Secret
}

func (s seeing) List(context.Context, object.Object, client.ListOptions) iter.Seq2[object.Object, error] {
	return func(yield func(object.Object, error) bool) { yield(s.view.DeepCopy(), nil) }
}

// counting counts the objects that lists yield.
type counting struct {
	reads
	listed int
}

func (l *counting) List(ctx context.Context, proto object.Object, o client.ListOptions) iter.Seq2[object.Object, error] {
	return func(yield func(object.Object, error) bool) {
		for obj, err := range l.reads.List(ctx, proto, o) {
			if l.listed++; !yield(obj, err) {
				return
			}
		}
	}
}

// From a cache Prune reads the objects of its owner, and not all of the namespace.
func TestPruneReadsChildrenOnly(t *testing.T) {
	c := newCluster(t)
	other := c.parent("others")
	for i := range 20 {
		s := secret(fmt.Sprint("s", i), "p", nil)
		owner := other
		if i < 3 {
			owner = c.owner
		}
		_, _, err := child.Ensure(t.Context(), c, owner, s)
		c.check(err)
	}
	shared, err := cache.New(cache.Connect(c.Live), cache.Options{})
	c.check(err)
	_, err = shared.Open(t.Context(), &corev1.Secret{}, client.Selection{})
	c.check(err)
	c.run(shared)
	l := &counting{reads: reads{c.Live, shared}}
	gone, err := child.Prune(t.Context(), l, c.owner, func(s *corev1.Secret) bool { return s.Name != "s1" })
	if c.check(err); len(gone) != 1 || gone[0].Name != "s1" || l.listed != 3 {
		t.Errorf("deleted %v, read %d objects, want 3", gone, l.listed)
	}
}

// without is a client whose lists take no field selector.
type without struct{ *cluster }

func (w without) List(ctx context.Context, proto object.Object, o client.ListOptions) iter.Seq2[object.Object, error] {
	if o.Fields != nil {
		return func(yield func(object.Object, error) bool) { yield(nil, errors.New("no field selectors here")) }
	}
	return w.cluster.List(ctx, proto, o)
}

// A client that cannot list by owner is asked for all of the namespace.
func TestPruneWithoutListsByOwner(t *testing.T) {
	c := newCluster(t)
	_, _, err := child.Ensure(t.Context(), c, c.owner, secret("a", "p", nil))
	c.check(err)
	gone, err := child.Prune(t.Context(), without{c}, c.owner, func(*corev1.Secret) bool { return false })
	if c.check(err); len(gone) != 1 {
		t.Errorf("deleted %v", gone)
	}
}
