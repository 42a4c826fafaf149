package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"reflect"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
)

// slot is the storage of one resource. It holds nothing: the objects are those of the call in the
// context.
type slot struct {
	storage.APIObjectVersioner
	codec runtime.Codec
	make  func() runtime.Object
	attrs storage.AttrFunc
}

var _ storage.Interface = (*slot)(nil)

// newSlot is a storage decorator.
func newSlot(config *storagebackend.ConfigForResource, _ string, _ func(runtime.Object) (string, error), newFunc, _ func() runtime.Object,
	attrs storage.AttrFunc, _ storage.IndexerFuncs, _ *cache.Indexers) (storage.Interface, factory.DestroyFunc, error) {
	return &slot{codec: config.Codec, make: newFunc, attrs: attrs}, func() {}, nil
}

var _ generic.StorageDecorator = newSlot

func (s *slot) Versioner() storage.Versioner { return s.APIObjectVersioner }

// read returns the object of a key; nil if there is none.
func (s *slot) read(ctx context.Context, key string) (runtime.Object, []byte, error) {
	text := callFrom(ctx).get(key)
	if text == nil {
		return nil, nil, nil
	}
	obj := s.make()
	return obj, text, s.decode(text, obj)
}

func (s *slot) decode(text []byte, into runtime.Object) error {
	// What the object held before must not show.
	v, err := conversion.EnforcePtr(into)
	if err != nil {
		return err
	}
	kind := into.GetObjectKind().GroupVersionKind()
	v.Set(reflect.Zero(v.Type()))
	if u, ok := into.(runtime.Unstructured); ok && !kind.Empty() { // the codec converts to the version that it has
		u.GetObjectKind().SetGroupVersionKind(kind)
	}
	_, _, err = s.codec.Decode(text, nil, into)
	return err
}

func (s *slot) encode(obj runtime.Object) ([]byte, error) {
	text, err := runtime.Encode(s.codec, obj)
	return bytes.TrimSpace(text), err
}

// shown returns what clients see of an object that was read from a text; nil if that is the text.
func (s *slot) shown(obj runtime.Object, text []byte) ([]byte, error) {
	seen, err := s.encode(obj)
	if err != nil || bytes.Equal(seen, text) {
		return nil, err
	}
	return seen, nil
}

// write stores obj with the next version, and decodes what is stored into out. was is the text of old; both
// are nil for an object that is created.
func (s *slot) write(c *call, key string, obj, old runtime.Object, was []byte, out runtime.Object) error {
	version := c.next()
	if err := errors.Join(c.settle(obj, old), s.UpdateObject(obj, version)); err != nil {
		return err
	}
	text, err := s.encode(obj)
	if err != nil {
		return err
	}
	if old == nil {
		text = c.settleUID(text)
	}
	text = c.settleTimes(text, was)
	if err := s.decode(text, out); err != nil {
		return err
	}
	labels, fields, err := s.attrs(out)
	if err != nil {
		return err
	}
	w := Write{Key: key, Version: version, Object: text, Labels: labels, Fields: fields}
	if w.Shown, err = s.shown(out, text); err != nil {
		return err
	}
	c.put(w)
	return nil
}

func (s *slot) Create(ctx context.Context, key string, obj, out runtime.Object, _ uint64) error {
	c := callFrom(ctx)
	if version, err := s.ObjectResourceVersion(obj); err == nil && version != 0 {
		return storage.ErrResourceVersionSetOnCreate
	}
	if c.get(key) != nil {
		return storage.NewKeyExistsError(key, 0)
	}
	return s.write(c, key, obj, nil, nil, out)
}

func (s *slot) Get(ctx context.Context, key string, opts storage.GetOptions, out runtime.Object) error {
	if c := callFrom(ctx); c.restores() {
		return s.restore(c, key, out)
	}
	obj, text, err := s.read(ctx, key)
	switch {
	case err != nil:
		return err
	case obj != nil:
		return s.decode(text, out)
	case opts.IgnoreNotFound:
		return runtime.SetZeroValue(out)
	}
	return storage.NewKeyNotFoundError(key, 0)
}

func (s *slot) GuaranteedUpdate(ctx context.Context, key string, out runtime.Object, ignoreNotFound bool, preconditions *storage.Preconditions,
	try storage.UpdateFunc, _ runtime.Object) error {
	c := callFrom(ctx)
	old, text, err := s.read(ctx, key)
	if err != nil {
		return err
	}
	existing := s.make()
	var version uint64
	if old != nil {
		existing = old.DeepCopyObject()
		if version, err = s.ObjectResourceVersion(old); err != nil {
			return err
		}
	} else if !ignoreNotFound {
		return storage.NewKeyNotFoundError(key, 0)
	}
	if err := preconditions.Check(registryKey(key), existing); err != nil {
		return err
	}
	obj, _, err := try(existing, storage.ResponseMeta{ResourceVersion: version})
	if err != nil {
		return err
	}
	if old == nil {
		return s.write(c, key, obj, nil, nil, out)
	}
	// A write that changes nothing keeps the version.
	if err := s.UpdateObject(obj, version); err != nil {
		return err
	}
	same, err := s.encode(obj)
	if err != nil {
		return err
	}
	if bytes.Equal(same, text) {
		return s.decode(text, out)
	}
	return s.write(c, key, obj, old, text, out)
}

func (s *slot) Delete(ctx context.Context, key string, out runtime.Object, preconditions *storage.Preconditions,
	valid storage.ValidateObjectFunc, _ runtime.Object, _ storage.DeleteOptions) error {
	c := callFrom(ctx)
	obj, _, err := s.read(ctx, key)
	if err != nil {
		return err
	}
	if obj == nil {
		return storage.NewKeyNotFoundError(key, 0)
	}
	if err := preconditions.Check(registryKey(key), obj); err != nil {
		return err
	}
	if err := valid(ctx, obj); err != nil {
		return err
	}
	labels, fields, err := s.attrs(obj)
	if err != nil {
		return err
	}
	version := c.next()
	if err := s.UpdateObject(obj, version); err != nil {
		return err
	}
	text, err := s.encode(obj)
	if err != nil {
		return err
	}
	if err := s.decode(text, out); err != nil {
		return err
	}
	w := Write{Key: key, Delete: true, Version: version, Object: text, Labels: labels, Fields: fields}
	if w.Shown, err = s.shown(out, text); err != nil {
		return err
	}
	c.put(w)
	return nil
}

// registryKey is the key that the real server has for an object. Some errors have it.
func registryKey(key string) string {
	group, rest, _ := strings.Cut(strings.TrimPrefix(key, "/"), "/")
	resource, name, _ := strings.Cut(rest, "/")
	if old := registryNames[resource]; old != "" && (group == "core" || group == "networking.k8s.io") {
		resource = old
	}
	return "/registry/" + resource + "/" + name
}

// registryNames are the names in keys that are older than those of the resources.
var registryNames = map[string]string{
	"replicationcontrollers": "controllers", "endpoints": "services/endpoints", "nodes": "minions", "services": "services/specs", "ingresses": "ingress",
}

func (s *slot) GetList(ctx context.Context, key string, opts storage.ListOptions, list runtime.Object) error {
	c := callFrom(ctx)
	c.list = s.asked(ctx, key, opts)
	if u, ok := list.(*unstructured.UnstructuredList); ok {
		c.list.ListKind, c.list.Whole = u.GetKind(), true
	}
	result := c.req.Collection
	if result == nil {
		result = &Collection{}
	}
	items, err := meta.GetItemsPtr(list)
	if err != nil {
		return err
	}
	v, err := conversion.EnforcePtr(items)
	if err != nil {
		return err
	}
	var failed error
	for _, text := range result.Items {
		obj := s.make()
		c.hooks.retry() // to know the calls of all items at once
		if err := s.decode(text, obj); err != nil {
			failed = cmp.Or(failed, err)
			continue
		}
		v.Set(reflect.Append(v, reflect.ValueOf(obj).Elem()))
	}
	if failed != nil {
		return failed
	}
	if v.IsNil() {
		v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	}
	return s.UpdateList(list, max(c.req.Version, 1), result.Continue, result.Remaining)
}

// errWatch ends the handler of a watch: what it asks for is known.
var errWatch = apierrors.NewMethodNotSupported(schema.GroupResource{}, "watch")

func (s *slot) Watch(ctx context.Context, key string, opts storage.ListOptions) (watch.Interface, error) {
	c := callFrom(ctx)
	c.list = s.asked(ctx, key, opts)
	c.list.Watch = true
	return nil, errWatch
}

// asked returns the options of a list or watch as they go over the wire.
func (s *slot) asked(ctx context.Context, key string, opts storage.ListOptions) *List {
	l := &List{Prefix: key, Single: !opts.Recursive, Limit: opts.Predicate.Limit, Continue: opts.Predicate.Continue, Version: opts.ResourceVersion,
		Match: string(opts.ResourceVersionMatch), Bookmarks: opts.Predicate.AllowWatchBookmarks, Initial: opts.SendInitialEvents}
	if opts.Recursive && !strings.HasSuffix(key, "/") {
		l.Prefix += "/"
	}
	if info, ok := request.RequestInfoFrom(ctx); ok {
		l.APIVersion = schema.GroupVersion{Group: info.APIGroup, Version: info.APIVersion}.String()
	}
	if kinds, _, err := legacyscheme.Scheme.ObjectKinds(s.make()); err == nil {
		l.Kind = kinds[0].Kind
		l.ListKind = l.Kind + "List"
	}
	if p := opts.Predicate.Label; p != nil {
		l.Labels = p.String()
	}
	if p := opts.Predicate.Field; p != nil {
		l.Fields = p.String()
	}
	return l
}

func (s *slot) Stats(context.Context) (storage.Stats, error) { return storage.Stats{}, nil }

func (s *slot) ReadinessCheck() error { return nil }

func (s *slot) RequestWatchProgress(context.Context) error { return nil }

func (s *slot) GetCurrentResourceVersion(ctx context.Context) (uint64, error) {
	return callFrom(ctx).version, nil
}

func (s *slot) EnableResourceSizeEstimation(storage.KeysFunc) error { return nil }

func (s *slot) CompactRevision() int64 { return 0 }
