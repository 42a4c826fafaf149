package storagekit

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/apis/example"
	examplev1 "k8s.io/apiserver/pkg/apis/example/v1"
	"k8s.io/apiserver/pkg/storage"

	"github.com/flyball-io/flyball/internal/apiserver/rules"
)

// answer is the rules for the kit: it stores Pods unchanged. The core answers lists and watches.
func answer(req *rules.Request) (*rules.Answer, error) {
	u, err := url.Parse(req.URL)
	if err != nil {
		return nil, err
	}
	key := keyOf(u.Path)
	if req.Bookmark != nil {
		return bookmark(req)
	}
	if req.Method == http.MethodGet && u.Query().Has("under") {
		switch match := metav1.ResourceVersionMatch(u.Query().Get("resourceVersionMatch")); match {
		case "", metav1.ResourceVersionMatchExact, metav1.ResourceVersionMatchNotOlderThan:
		default: // the rules of Kubernetes refuse it, too
			return refuse(apierrors.NewBadRequest("resourceVersionMatch: " + string(match)))
		}
		return &rules.Answer{Code: http.StatusOK, List: listOf(u.Query())}, nil
	}
	old := []byte(req.Objects[key])
	if bytes.Equal(old, []byte("null")) {
		old = nil
	}
	asked := u.Query().Get("resourceVersion")
	switch {
	case req.Method == http.MethodGet && old != nil:
		return &rules.Answer{Code: http.StatusOK, Body: old}, nil
	case req.Method == http.MethodPost && old != nil:
		return refuse(apierrors.NewAlreadyExists(example.Resource("pods"), key))
	case req.Method == http.MethodPost:
		return put(req, key, nil)
	case old == nil && (req.Method != http.MethodPut || asked != ""):
		return refuse(apierrors.NewNotFound(example.Resource("pods"), key))
	case strings.HasPrefix(key, keyOf(root+"others/")):
		return change(req, rules.Write{Key: key}, req.Body)
	}
	if old != nil {
		was := &example.Pod{}
		if err := decode(old, was); err != nil {
			return nil, err
		}
		if was.ResourceVersion != asked {
			return refuse(apierrors.NewConflict(example.Resource("pods"), key, nil))
		}
	}
	if req.Method == http.MethodDelete {
		return change(req, rules.Write{Key: key, Delete: true}, old)
	}
	if u.Query().Has("anew") {
		return change(req, rules.Write{Key: key}, req.Body)
	}
	return put(req, key, old)
}

// bookmark answers with the object of a bookmark: a Pod with a version, and a mark at the end of the initial events.
func bookmark(req *rules.Request) (*rules.Answer, error) {
	pod := &example.Pod{}
	if req.Bookmark.Initial {
		pod.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	}
	if err := (storage.APIObjectVersioner{}).UpdateObject(pod, req.Version); err != nil {
		return nil, err
	}
	text, err := runtime.Encode(codec, pod)
	return &rules.Answer{Code: http.StatusOK, Body: bytes.TrimSpace(text)}, err
}

// keyOf returns the core's key of an object, given its path.
func keyOf(path string) string {
	path = strings.TrimPrefix(path, root)
	if rest, ok := strings.CutPrefix(path, "namespaces/"); ok {
		namespace, rest, _ := strings.Cut(rest, "/")
		resource, name, _ := strings.Cut(rest, "/")
		path = resource + "/" + namespace + "/" + name
	}
	return "/" + examplev1.SchemeGroupVersion.Group + "/" + path
}

func refuse(err *apierrors.StatusError) (*rules.Answer, error) {
	body, failed := json.Marshal(err.ErrStatus)
	return &rules.Answer{Code: int(err.ErrStatus.Code), Body: body}, failed
}

// put stores the body of a request, unless it equals the stored object.
func put(req *rules.Request, key string, old []byte) (*rules.Answer, error) {
	if old != nil {
		same, err := withVersionOf(req.Body, old)
		if err != nil {
			return nil, err
		}
		if bytes.Equal(same, old) {
			return &rules.Answer{Code: http.StatusOK, Body: old}, nil
		}
	}
	return change(req, rules.Write{Key: key}, req.Body)
}

// withVersionOf returns an object with the version of another.
func withVersionOf(text, of []byte) ([]byte, error) {
	was := &example.Pod{}
	if err := decode(of, was); err != nil {
		return nil, err
	}
	version, err := strconv.ParseUint(was.ResourceVersion, 10, 64)
	if err != nil {
		return nil, err
	}
	text, _, err = at(text, version)
	return text, err
}

// at returns an object with a version, as text and as a Pod.
func at(text []byte, version uint64) ([]byte, *example.Pod, error) {
	pod := &example.Pod{}
	if err := decode(text, pod); err != nil {
		return nil, nil, err
	}
	if err := (storage.APIObjectVersioner{}).UpdateObject(pod, version); err != nil {
		return nil, nil, err
	}
	text, err := runtime.Encode(codec, pod)
	return bytes.TrimSpace(text), pod, err
}

// change makes one write with the next version.
func change(req *rules.Request, w rules.Write, text []byte) (*rules.Answer, error) {
	w.Version = req.Version + 1
	text, pod, err := at(text, w.Version)
	if err != nil {
		return nil, err
	}
	w.Object, w.Labels = text, pod.Labels
	w.Fields = fields.Set{"metadata.name": pod.Name, "metadata.namespace": pod.Namespace, "spec.nodeName": pod.Spec.NodeName}
	return &rules.Answer{Code: http.StatusOK, Body: text, Writes: []rules.Write{w}}, nil
}

// listOf returns the options in a query.
func listOf(q url.Values) *rules.List {
	limit, err := strconv.ParseInt(q.Get("limit"), 10, 64)
	if err != nil {
		limit = 0 // there is none
	}
	under := strings.TrimPrefix(q.Get("under"), "/")
	single := q.Has("single")
	if single {
		if path, err := item(q.Get("under")); err == nil {
			under = strings.TrimPrefix(keyOf(path), keyOf(root))
		}
	}
	l := &rules.List{
		Kind: "Pod", ListKind: "PodList", APIVersion: examplev1.SchemeGroupVersion.String(), Whole: true,
		Prefix: keyOf(root + under), Single: single, Watch: q.Has("watch"), Labels: q.Get("labelSelector"), Fields: q.Get("fieldSelector"),
		Limit: limit, Continue: q.Get("continue"), Version: q.Get("resourceVersion"), Match: q.Get("resourceVersionMatch"),
		Bookmarks: q.Has("allowWatchBookmarks"),
	}
	if q.Has("sendInitialEvents") {
		initial := q.Get("sendInitialEvents") == "true"
		l.Initial = &initial
	}
	return l
}
