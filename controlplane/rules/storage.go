package main

import (
	"bytes"
	"context"
	"reflect"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"
	"k8s.io/client-go/tools/cache"
)

// callStorage is the storage of one resource. It has no state: it reads the objects of the call in the context, and
// records writes there.
type callStorage struct {
	storage.APIObjectVersioner
	codec runtime.Codec
	make  func() runtime.Object // returns an empty object
	attrs storage.AttrFunc
	// namespaced is whether the objects are in namespaces.
	namespaced bool
	// decorate changes an object that is read; nil if the kind has no such function.
	decorate func(runtime.Object)
}

var _ storage.Interface = (*callStorage)(nil)

// newCallStorage is a [generic.StorageDecorator].
func newCallStorage(config *storagebackend.ConfigForResource, _ string, keyOf func(runtime.Object) (string, error), newFunc, _ func() runtime.Object,
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
	return &callStorage{codec: config.Codec, make: newFunc, attrs: attrs, namespaced: strings.HasSuffix(key, "/namespace/name")}, func() {}, nil
}

var _ generic.StorageDecorator = newCallStorage

func (s *callStorage) Versioner() storage.Versioner { return s.APIObjectVersioner }

// read returns the object with a key, and its stored text; nil if there is none.
func (s *callStorage) read(ctx context.Context, key string) (runtime.Object, []byte, error) {
	text := callFrom(ctx).get(key)
	if text == nil {
		return nil, nil, nil
	}
	obj := s.make()
	return obj, text, s.decode(text, obj)
}

func (s *callStorage) decode(text []byte, into runtime.Object) error {
	// Decoding adds to what the object holds, so it is emptied first.
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

func (s *callStorage) encode(obj runtime.Object) ([]byte, error) {
	text, err := runtime.Encode(s.codec, obj)
	return bytes.TrimSpace(text), err
}

// shown returns the form of an object that clients see; nil if that equals its stored text.
func (s *callStorage) shown(obj runtime.Object, text []byte) ([]byte, error) {
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

// write records obj as a write with the next version, and decodes the stored text into out. was is the stored text of
// old; both are nil for a new object.
func (s *callStorage) write(c *call, key string, obj, old runtime.Object, was []byte, out runtime.Object) error {
	version := c.next()
	if old == nil { // else unchanged has done so
		if _, err := c.setTimes(obj, nil); err != nil {
			return err
		}
	}
	if err := s.UpdateObject(obj, version); err != nil {
		return err
	}
	text, err := s.encode(obj)
	if err != nil {
		return err
	}
	if len(text) > muchText {
		if err := s.fits(key, obj, old); err != nil {
			c.refuse(version)
			return err
		}
	}
	if old == nil {
		text = c.replaceUID(text)
	}
	text = c.replaceTimes(text, was)
	if err := s.decode(text, out); err != nil {
		return err
	}
	return s.keep(c, key, out, version, text)
}

// keep records a write. obj was decoded from text, the stored form.
func (s *callStorage) keep(c *call, key string, obj runtime.Object, version uint64, text []byte) error {
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

func (s *callStorage) Create(ctx context.Context, key string, obj, out runtime.Object, _ uint64) error {
	c := callFrom(ctx)
	if version, err := s.ObjectResourceVersion(obj); err == nil && version != 0 {
		return storage.ErrResourceVersionSetOnCreate
	}
	if c.get(key) != nil {
		return storage.NewKeyExistsError(key, 0)
	}
	return s.write(c, key, obj, nil, nil, out)
}

func (s *callStorage) Get(ctx context.Context, key string, opts storage.GetOptions, out runtime.Object) error {
	if c := callFrom(ctx); c.req.Restore {
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

func (s *callStorage) GuaranteedUpdate(ctx context.Context, key string, out runtime.Object, ignoreNotFound bool, preconditions *storage.Preconditions,
	try storage.UpdateFunc, _ runtime.Object) error {
	deepen()
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
	same, err := s.unchanged(c, obj, old, version, text)
	if err != nil {
		return err
	}
	if same { // a write that changes nothing keeps the version
		return s.decode(text, out)
	}
	return s.write(c, key, obj, old, text, out)
}

// unchanged reports whether obj is what is stored: old, with this version and text. The handlers drop times of managed
// fields that are the only change, unless these give the entries another order. That is asked again for the time of the
// request, which an object that has changed has afterwards.
func (s *callStorage) unchanged(c *call, obj, old runtime.Object, version uint64, text []byte) (bool, error) {
	stored := func() (bool, error) {
		if err := s.UpdateObject(obj, version); err != nil {
			return false, err
		}
		own, err := s.encode(obj)
		return err == nil && bytes.Equal(own, text), err
	}
	if same, err := stored(); same || err != nil {
		return same, err
	}
	if moved, err := c.setTimes(obj, old); !moved || err != nil {
		return false, err
	}
	o, err := meta.Accessor(obj)
	if err != nil {
		return false, err
	}
	was, err := meta.Accessor(old)
	if err != nil {
		return false, err
	}
	fields := o.GetManagedFields()
	if !slices.EqualFunc(fields, was.GetManagedFields(), sameButTime) {
		return false, nil
	}
	o.SetManagedFields(was.GetManagedFields())
	same, err := stored()
	if !same {
		o.SetManagedFields(fields)
	}
	return same, err
}

func (s *callStorage) Delete(ctx context.Context, key string, out runtime.Object, preconditions *storage.Preconditions,
	valid storage.ValidateObjectFunc, _ runtime.Object, _ storage.DeleteOptions) error {
	c := callFrom(ctx)
	obj, stored, err := s.read(ctx, key)
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
	text, err := s.lastOf(obj, stored, version)
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

// lastOf returns the last state of an object that is deleted, with the version of that. A custom resource stays as it is
// stored: the version of the request may lack fields that watches of another one show.
func (s *callStorage) lastOf(obj runtime.Object, stored []byte, version uint64) ([]byte, error) {
	if _, ok := obj.(*unstructured.Unstructured); !ok {
		if err := s.UpdateObject(obj, version); err != nil {
			return nil, err
		}
		return s.encode(obj)
	}
	var last unstructured.Unstructured
	if err := last.UnmarshalJSON(stored); err != nil {
		return nil, err
	}
	if err := s.UpdateObject(&last, version); err != nil {
		return nil, err
	}
	text, err := last.MarshalJSON()
	return bytes.TrimSpace(text), err
}

func (s *callStorage) Stats(context.Context) (storage.Stats, error) { return storage.Stats{}, nil }

func (s *callStorage) ReadinessCheck() error { return nil }

func (s *callStorage) RequestWatchProgress(context.Context) error { return nil }

func (s *callStorage) GetCurrentResourceVersion(ctx context.Context) (uint64, error) {
	return callFrom(ctx).version, nil
}

func (s *callStorage) EnableResourceSizeEstimation(storage.KeysFunc) error { return nil }

func (s *callStorage) CompactRevision() int64 { return 0 }
