package main

import (
	"cmp"
	"context"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
)

func (s *callStorage) GetList(ctx context.Context, key string, opts storage.ListOptions, list runtime.Object) error {
	c := callFrom(ctx)
	c.list = s.listFor(ctx, key, opts)
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
		c.hooks.retry() // so that one answer has the missing calls of all items
		if err := s.decode(text, obj); err != nil {
			failed = cmp.Or(failed, err)
			continue
		}
		if c.req.Fields {
			_, fields, err := s.attrs(obj)
			if err != nil {
				return err
			}
			c.fields = append(c.fields, fields)
		}
		v.Set(reflect.Append(v, reflect.ValueOf(obj).Elem()))
	}
	if failed != nil {
		return failed
	}
	if v.IsNil() {
		v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	}
	opts.Predicate.SetShardInfoOnList(list)
	return s.UpdateList(list, max(c.req.Version, 1), result.Continue, result.Remaining)
}

// Watch notes the options of the watch, and returns one that has ended. The core serves the events.
func (s *callStorage) Watch(ctx context.Context, key string, opts storage.ListOptions) (watch.Interface, error) {
	c := callFrom(ctx)
	c.list = s.listFor(ctx, key, opts)
	c.list.Watch = true
	return watch.NewEmptyWatch(), nil
}

// bookmark makes an empty object a bookmark at a version. initial marks the end of the initial events.
func (s *callStorage) bookmark(out runtime.Object, version uint64, initial bool) error {
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

// listFor returns the options of a list or watch for the answer.
func (s *callStorage) listFor(ctx context.Context, key string, opts storage.ListOptions) *List {
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
	l.Shards, l.ShardSelector = shardsOf(opts.Predicate.ShardSelector)
	return l
}
