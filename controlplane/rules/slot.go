package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"reflect"
	"regexp"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	// namespaced is whether the objects are in namespaces.
	namespaced bool
	// decorate changes an object that is read; nil if the kind has no such function.
	decorate func(runtime.Object)
}

var _ storage.Interface = (*slot)(nil)

// newSlot is a storage decorator.
func newSlot(config *storagebackend.ConfigForResource, _ string, keyOf func(runtime.Object) (string, error), newFunc, _ func() runtime.Object,
	attrs storage.AttrFunc, _ storage.IndexerFuncs, _ *cache.Indexers) (storage.Interface, factory.DestroyFunc, error) {
	probe := newFunc()
	o, err := meta.Accessor(probe)
	if err != nil {
		return nil, nil, err
	}
	o.SetNamespace("namespace")
	o.SetName("name")
	key, err := keyOf(probe)
	if err != nil {
		return nil, nil, err
	}
	return &slot{codec: config.Codec, make: newFunc, attrs: attrs, namespaced: strings.HasSuffix(key, "/namespace/name")}, func() {}, nil
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
	if s.decorate != nil {
		obj = obj.DeepCopyObject()
		s.decorate(obj)
	}
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
	return s.keep(c, key, out, version, text)
}

// keep records the write of an object that was read from its stored text.
func (s *slot) keep(c *call, key string, obj runtime.Object, version uint64, text []byte) error {
	labels, fields, err := s.attrs(obj)
	if err != nil {
		return err
	}
	w := Write{Key: key, Version: version, Object: text, Labels: labels, Fields: fields}
	if w.Shown, err = s.shown(obj, text); err != nil {
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
	if b := callFrom(ctx).req.Bookmark; b != nil {
		return s.bookmark(out, callFrom(ctx).version, b.Initial)
	}
	if _, err := s.Versioner().ParseResourceVersion(opts.ResourceVersion); err != nil {
		if strings.HasPrefix(key, "/core/events/") { // the real server has no cache of them
			return apierrors.NewBadRequest("invalid resource version: " + err.Error())
		}
		return err
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
func registryKey(key string) string { return "/registry" + realKey(key) }

// realKey is the key of the real server without its prefix. Dry runs have it in errors.
func realKey(key string) string {
	group, rest, _ := strings.Cut(strings.TrimPrefix(key, "/"), "/")
	resource, name, _ := strings.Cut(rest, "/")
	if old := registryNames[resource]; old != "" && (group == "core" || group == "networking.k8s.io") {
		resource = old
	}
	if group == apiextensions.GroupName || group != "core" && strings.Contains(group, ".") && !legacyscheme.Scheme.IsGroupRegistered(group) {
		resource = group + "/" + resource
	}
	return "/" + resource + "/" + name
}

// inKey matches the key in the text of a conflict of a dry run.
var inKey = regexp.MustCompile(`Key: (/[^,]+), ResourceVersion`)

// withRealKeys returns a text with the keys of the real server.
func withRealKeys(text []byte) []byte {
	return inKey.ReplaceAllFunc(text, func(found []byte) []byte {
		key := string(inKey.FindSubmatch(found)[1])
		if strings.HasPrefix(key, "/registry/") {
			return found
		}
		return []byte("Key: " + realKey(key) + ", ResourceVersion")
	})
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

// Watch notes what is asked for. The handler then answers as to a watch that has ended.
func (s *slot) Watch(ctx context.Context, key string, opts storage.ListOptions) (watch.Interface, error) {
	c := callFrom(ctx)
	c.list = s.asked(ctx, key, opts)
	c.list.Watch = true
	return watch.NewEmptyWatch(), nil
}

// bookmark makes an empty object a bookmark.
func (s *slot) bookmark(out runtime.Object, version uint64, initial bool) error {
	if err := s.UpdateObject(out, version); err != nil || !initial {
		return err
	}
	o, err := meta.Accessor(out)
	if err != nil {
		return err
	}
	o.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	return nil
}

// asked returns the options of a list or watch as they go over the wire.
func (s *slot) asked(ctx context.Context, key string, opts storage.ListOptions) *List {
	l := &List{Prefix: key, Single: !opts.Recursive, Limit: opts.Predicate.Limit, Continue: opts.Predicate.Continue, Version: opts.ResourceVersion,
		Match: string(opts.ResourceVersionMatch), Bookmarks: opts.Predicate.AllowWatchBookmarks, Initial: opts.SendInitialEvents, Namespaced: s.namespaced}
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
