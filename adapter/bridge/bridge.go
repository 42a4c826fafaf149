// Package bridge serves a ListerWatcher of client-go as an API server would, over a transport instead of a network:
//
//	fake source of a test ──► Kind ──► bridge: list, watch, discovery ──► *rest.Config ──► packed informer
//
// Tests of client-go have their objects in such sources. A watch with initial events is refused, as by servers
// without streaming lists.
package bridge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
)

// Kind is a kind that the server has.
type Kind struct {
	GVK        schema.GroupVersionKind
	Resource   string
	Namespaced bool
	// Source has the objects of a namespace; empty: of all.
	Source func(namespace string) toolscache.ListerWatcher
}

// Config returns a configuration for clients of the server.
func Config(kinds ...Kind) *rest.Config {
	return &rest.Config{Host: "http://bridge.invalid", Transport: server(kinds)}
}

// Pods returns a configuration for a server that has Pods alone.
func Pods(source toolscache.ListerWatcher) *rest.Config {
	return Config(Kind{
		GVK: schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, Resource: "pods", Namespaced: true,
		Source: func(string) toolscache.ListerWatcher { return source },
	})
}

type server []Kind

// RoundTrip implements http.RoundTripper.
func (s server) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	if r.Body != nil {
		r.Body.Close()
	}
	path := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	var gv schema.GroupVersion
	switch {
	case len(path) == 1 && path[0] == "api":
		return reply(r, 200, metav1.APIVersions{Versions: []string{"v1"}}), nil
	case len(path) == 1 && path[0] == "apis":
		return reply(r, 200, s.groups()), nil
	case len(path) >= 2 && path[0] == "api":
		gv, path = schema.GroupVersion{Version: path[1]}, path[2:]
	case len(path) >= 3 && path[0] == "apis":
		gv, path = schema.GroupVersion{Group: path[1], Version: path[2]}, path[3:]
	}
	namespace := ""
	if len(path) == 3 && path[0] == "namespaces" {
		namespace, path = path[1], path[2:]
	}
	switch {
	case r.Method != http.MethodGet:
		return failure(r, apierrors.NewMethodNotSupported(schema.GroupResource{}, r.Method)), nil
	case len(path) == 0:
		return reply(r, 200, s.resources(gv)), nil
	case len(path) == 1:
		for _, k := range s {
			if k.GVK.GroupVersion() == gv && k.Resource == path[0] {
				return k.serve(r, namespace), nil
			}
		}
	}
	return failure(r, apierrors.NewNotFound(schema.GroupResource{}, r.URL.Path)), nil
}

func (s server) groups() metav1.APIGroupList {
	var list metav1.APIGroupList
	seen := map[schema.GroupVersion]bool{{Version: "v1"}: true}
	for _, k := range s {
		if gv := k.GVK.GroupVersion(); !seen[gv] {
			seen[gv] = true
			v := metav1.GroupVersionForDiscovery{GroupVersion: gv.String(), Version: gv.Version}
			list.Groups = append(list.Groups, metav1.APIGroup{Name: gv.Group, Versions: []metav1.GroupVersionForDiscovery{v}, PreferredVersion: v})
		}
	}
	return list
}

func (s server) resources(gv schema.GroupVersion) metav1.APIResourceList {
	list := metav1.APIResourceList{GroupVersion: gv.String()}
	for _, k := range s {
		if k.GVK.GroupVersion() == gv {
			list.APIResources = append(list.APIResources, metav1.APIResource{
				Name: k.Resource, Kind: k.GVK.Kind, Namespaced: k.Namespaced, Verbs: metav1.Verbs{"list", "watch"},
			})
		}
	}
	return list
}

// serve lists or watches.
func (k Kind) serve(r *http.Request, namespace string) *http.Response {
	q := r.URL.Query()
	o := metav1.ListOptions{
		LabelSelector: q.Get("labelSelector"), FieldSelector: q.Get("fieldSelector"), ResourceVersion: q.Get("resourceVersion"),
	}
	source := k.Source(namespace)
	if isWatch, _ := strconv.ParseBool(q.Get("watch")); !isWatch {
		//lint:ignore SA1019 the fake sources of the tests have no other
		list, err := source.List(o)
		if err != nil {
			return failure(r, err)
		}
		body, err := k.list(list)
		if err != nil {
			return failure(r, err)
		}
		return answer(r, 200, io.NopCloser(bytes.NewReader(body)))
	}
	if q.Has("sendInitialEvents") {
		return failure(r, apierrors.NewInvalid(schema.GroupKind{}, "", nil))
	}
	//lint:ignore SA1019 the fake sources of the tests have no other
	w, err := source.Watch(o)
	if err != nil {
		return failure(r, err)
	}
	return answer(r, 200, k.frames(r, w))
}

// list encodes a list, whatever its Go type is.
func (k Kind) list(list runtime.Object) ([]byte, error) {
	of, err := meta.ListAccessor(list)
	if err != nil {
		return nil, err
	}
	objs, err := meta.ExtractList(list)
	if err != nil {
		return nil, err
	}
	items := []json.RawMessage{}
	for _, o := range objs {
		item, err := json.Marshal(k.named(o))
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return json.Marshal(map[string]any{
		"kind": k.GVK.Kind + "List", "apiVersion": k.GVK.GroupVersion().String(),
		"metadata": map[string]any{"resourceVersion": of.GetResourceVersion()}, "items": items,
	})
}

// named returns a copy of an object with its kind.
func (k Kind) named(o runtime.Object) runtime.Object {
	if _, failed := o.(*metav1.Status); failed {
		return o
	}
	o = o.DeepCopyObject()
	o.GetObjectKind().SetGroupVersionKind(k.GVK)
	return o
}

// frames are the events of a watch, as the body of an answer.
func (k Kind) frames(r *http.Request, w watch.Interface) io.ReadCloser {
	in, out := io.Pipe()
	b := &body{PipeReader: in, closed: make(chan struct{})}
	b.ended.Go(func() {
		defer w.Stop()
		for {
			select {
			case e, ok := <-w.ResultChan():
				if !ok {
					out.Close()
					return
				}
				frame, err := json.Marshal(map[string]any{"type": e.Type, "object": k.named(e.Object)})
				if err == nil {
					_, err = out.Write(append(frame, '\n'))
				}
				if err != nil {
					out.CloseWithError(err)
					return
				}
			case <-r.Context().Done():
				out.CloseWithError(r.Context().Err())
				return
			case <-b.closed:
				return
			}
		}
	})
	return b
}

// body is the body of a watch. Close waits until nothing reads the watch any more.
type body struct {
	*io.PipeReader
	once   sync.Once
	closed chan struct{}
	ended  sync.WaitGroup
}

// Close implements io.Closer.
func (b *body) Close() error {
	b.once.Do(func() { close(b.closed) })
	err := b.PipeReader.Close()
	b.ended.Wait()
	return err
}

func reply(r *http.Request, code int, v any) *http.Response {
	text, err := json.Marshal(v)
	if err != nil {
		return failure(r, err)
	}
	return answer(r, code, io.NopCloser(bytes.NewReader(text)))
}

func failure(r *http.Request, err error) *http.Response {
	status := metav1.Status{Status: metav1.StatusFailure, Code: 500, Reason: metav1.StatusReasonInternalError, Message: err.Error()}
	var known apierrors.APIStatus
	if errors.As(err, &known) {
		status = known.Status()
	}
	status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	text, err := json.Marshal(status)
	if err != nil {
		text = fmt.Append(nil, err)
	}
	return answer(r, int(status.Code), io.NopCloser(bytes.NewReader(text)))
}

func answer(r *http.Request, code int, body io.ReadCloser) *http.Response {
	return &http.Response{
		StatusCode: code, Status: fmt.Sprint(code, " ", http.StatusText(code)), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, ContentLength: -1, Body: body, Request: r,
	}
}
