package storagekit

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/apitesting"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apiserver/pkg/apis/example"
	examplev1 "k8s.io/apiserver/pkg/apis/example/v1"
	"k8s.io/apiserver/pkg/storage"
	kit "k8s.io/apiserver/pkg/storage/testing"
	"k8s.io/apiserver/pkg/storage/value"

	"github.com/flyball-io/flyball/internal/apiserver/core"
)

// codec reads and writes the Pods of the kit.
var codec = func() runtime.Codec {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, metav1.SchemeGroupVersion)
	utilruntime.Must(example.AddToScheme(scheme))
	utilruntime.Must(examplev1.AddToScheme(scheme))
	return apitesting.TestCodec(serializer.NewCodecFactory(scheme), examplev1.SchemeGroupVersion)
}()

// prefix begins the keys of the kit, and root the paths of the requests.
const prefix = "/pods/"

var root = "/apis/" + examplev1.SchemeGroupVersion.String() + "/"

// store is a storage over a state. It makes requests to the state, as a client does, and keeps nothing.
type store struct {
	storage.APIObjectVersioner
	mu    sync.Mutex
	state *core.State
	moved chan struct{} // closed when the state has changed
	// transform changes objects that are read, for the kit.
	transform value.Transformer
}

var _ storage.Interface = (*store)(nil)

func newStore() *store {
	return &store{state: core.New(core.Options{Rules: answer}), moved: make(chan struct{}), transform: kit.NewPrefixTransformer([]byte(encrypted), false)}
}

// encrypted is the prefix of stored objects that the kit expects.
const encrypted = "encrypted:"

// UpdatePrefixTransformer replaces the transformer of objects that are read, until the returned function is called.
func (s *store) UpdatePrefixTransformer(modify kit.PrefixTransformerModifier) func() {
	was := s.transform
	copied := *was.(*kit.PrefixTransformer)
	s.transform = modify(&copied)
	return func() { s.transform = was }
}

// stale reads an object by the transformer, and reports whether it has to be written again.
func (s *store) stale(ctx context.Context) (bool, error) {
	_, stale, err := s.transform.TransformFromStorage(ctx, []byte(encrypted), value.DefaultContext{})
	return stale, err
}

// valid checks the stored object.
func (s *store) valid(ctx context.Context, t *testing.T, key string) {
	pod := &example.Pod{}
	if err := s.Get(ctx, key, storage.GetOptions{}, pod); err != nil || pod.SelfLink != "" || pod.ResourceVersion == "" {
		t.Errorf("%s: %v, %+v", key, err, pod)
	}
}

func (s *store) Versioner() storage.Versioner { return s.APIObjectVersioner }

// step makes a request.
func (s *store) step(method, target string, body []byte) core.Answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.state.Version()
	a := s.state.Step(time.Now(), core.Request{Method: method, URL: target, ContentType: "application/json", Accept: "application/json", Body: body})
	if s.state.Version() != before {
		s.wake()
	}
	return a
}

// wake tells watches that the state has changed. The caller holds the lock.
func (s *store) wake() {
	close(s.moved)
	s.moved = make(chan struct{})
}

// now returns a view of the present state, and a channel that is closed after the next change.
func (s *store) now() (core.View, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.Now(), s.moved
}

// increase changes another object, and returns the version.
func (s *store) increase(context.Context, *testing.T) int64 {
	s.step(http.MethodPut, root+"others/one", []byte("{}"))
	view, _ := s.now()
	return int64(view.Version())
}

// compact drops the changes before a version. It also makes a change, as the real server does to note the compaction.
func (s *store) compact(ctx context.Context, t *testing.T, version string) {
	to, err := s.ParseResourceVersion(version)
	if err != nil {
		t.Fatal(err)
	}
	s.increase(ctx, t)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.CompactTo(to)
	s.wake()
}

// item returns the path of the object with a key. The kit has a key with an empty name, which no path can have.
func item(key string) (string, error) {
	key, err := storage.PrepareKey(prefix, key, false)
	if err != nil {
		return "", err
	}
	parts := slices.DeleteFunc(strings.Split(strings.TrimPrefix(key, prefix), "/"), func(part string) bool { return part == "" })
	switch len(parts) {
	case 0:
		return root + "pods/-", nil
	case 1:
		return root + "pods/" + parts[0], nil
	case 2:
		return root + "namespaces/" + parts[0] + "/pods/" + parts[1], nil
	}
	return "", errors.New("no object has the key " + key)
}

// collection returns the path and the query of a list or watch.
func collection(key string, o storage.ListOptions) (string, error) {
	key, err := storage.PrepareKey(prefix, key, o.Recursive)
	if err != nil {
		return "", err
	}
	q := url.Values{"under": {key}}
	set := func(name, value string, is bool) {
		if is {
			q.Set(name, value)
		}
	}
	p := o.Predicate
	set("single", "true", !o.Recursive)
	set("resourceVersion", o.ResourceVersion, o.ResourceVersion != "")
	set("resourceVersionMatch", string(o.ResourceVersionMatch), o.ResourceVersionMatch != "")
	set("limit", strconv.FormatInt(p.Limit, 10), p.Limit > 0)
	set("continue", p.Continue, p.Continue != "")
	set("allowWatchBookmarks", "true", p.AllowWatchBookmarks || o.ProgressNotify)
	if o.SendInitialEvents != nil {
		q.Set("sendInitialEvents", strconv.FormatBool(*o.SendInitialEvents))
	}
	if p.Label != nil && !p.Label.Empty() {
		q.Set("labelSelector", p.Label.String())
	}
	if p.Field != nil && !p.Field.Empty() {
		q.Set("fieldSelector", p.Field.String())
	}
	return root + "pods?" + q.Encode(), nil
}

// failure returns the error of an answer, as storage returns it.
func failure(key string, a core.Answer) error {
	if a.Code < 300 {
		return nil
	}
	var s metav1.Status
	if err := json.Unmarshal(a.Body, &s); err != nil {
		return err
	}
	switch s.Reason {
	case metav1.StatusReasonNotFound:
		return storage.NewKeyNotFoundError(key, 0)
	case metav1.StatusReasonAlreadyExists:
		return storage.NewKeyExistsError(key, 0)
	}
	return &apierrors.StatusError{ErrStatus: s}
}

// decode reads the body of an answer into out, which it empties first.
func decode(body []byte, out runtime.Object) error {
	if out == nil {
		return nil
	}
	if err := runtime.SetZeroValue(out); err != nil {
		return err
	}
	_, _, err := codec.Decode(body, nil, out)
	return err
}

func (s *store) Get(_ context.Context, key string, o storage.GetOptions, out runtime.Object) error {
	path, err := item(key)
	if err != nil {
		return err
	}
	if o.ResourceVersion != "" {
		path += "?resourceVersion=" + url.QueryEscape(o.ResourceVersion)
	}
	a := s.step(http.MethodGet, path, nil)
	if err := failure(key, a); storage.IsNotFound(err) && o.IgnoreNotFound {
		return runtime.SetZeroValue(out)
	} else if err != nil {
		return err
	}
	return decode(a.Body, out)
}

func (s *store) Create(_ context.Context, key string, obj, out runtime.Object, _ uint64) error {
	path, err := item(key)
	if err != nil {
		return err
	}
	if version, err := s.ObjectResourceVersion(obj); err == nil && version != 0 {
		return storage.ErrResourceVersionSetOnCreate
	}
	body, err := s.stored(obj)
	if err != nil {
		return err
	}
	a := s.step(http.MethodPost, path, body)
	if err := failure(key, a); err != nil {
		return err
	}
	return decode(a.Body, out)
}

// stored returns the stored form of an object, which has no version.
func (s *store) stored(obj runtime.Object) ([]byte, error) {
	obj = obj.DeepCopyObject()
	if err := s.PrepareObjectForStorage(obj); err != nil {
		return nil, err
	}
	return runtime.Encode(codec, obj)
}

func (s *store) GetList(ctx context.Context, key string, o storage.ListOptions, out runtime.Object) error {
	path, err := collection(key, o)
	if err != nil {
		return err
	}
	a := s.step(http.MethodGet, path, nil)
	if err := failure(key, a); err != nil {
		return err
	}
	var list struct {
		Metadata metav1.ListMeta
		Items    []json.RawMessage
	}
	if err := json.Unmarshal(a.Body, &list); err != nil {
		return err
	}
	if list.Metadata.Continue, err = goesOn(key, list.Metadata.Continue); err != nil {
		return err
	}
	pods := &example.PodList{ListMeta: list.Metadata, Items: make([]example.Pod, len(list.Items))}
	for i, text := range list.Items {
		if _, err := s.stale(ctx); err != nil {
			return err
		}
		if err := decode(text, &pods.Items[i]); err != nil {
			return err
		}
	}
	*out.(*example.PodList) = *pods
	return nil
}

// goesOn returns a continue token of a list for a key of the kit. The start in the token begins with a slash if the key
// does not end with one, as keys of API servers do not; some keys of the kit do.
func goesOn(key, next string) (string, error) {
	if next == "" || !strings.HasSuffix(key, "/") {
		return next, nil
	}
	start, version, err := storage.DecodeContinue(next, key)
	if err != nil {
		return "", err
	}
	return storage.EncodeContinue(start, key, version)
}

// write replaces or deletes an object at a version. A conflict is an error.
func (s *store) write(method, path, key, version string, body []byte, out runtime.Object) error {
	a := s.step(method, path+"?resourceVersion="+version, body)
	if err := failure(key, a); err != nil {
		return err
	}
	return decode(a.Body, out)
}

func (s *store) Delete(ctx context.Context, key string, out runtime.Object, preconditions *storage.Preconditions,
	valid storage.ValidateObjectFunc, _ runtime.Object, _ storage.DeleteOptions) error {
	path, err := item(key)
	if err != nil {
		return err
	}
	for {
		was := &example.Pod{}
		if err := s.Get(ctx, key, storage.GetOptions{}, was); err != nil {
			return err
		}
		if err := preconditions.Check(key, was); err != nil {
			return err
		}
		if err := valid(ctx, was); err != nil {
			return err
		}
		if err := s.write(http.MethodDelete, path, key, was.ResourceVersion, nil, out); !apierrors.IsConflict(err) {
			return err
		}
	}
}

func (s *store) GuaranteedUpdate(ctx context.Context, key string, out runtime.Object, ignoreNotFound bool, preconditions *storage.Preconditions,
	try storage.UpdateFunc, _ runtime.Object) error {
	path, err := item(key)
	if err != nil {
		return err
	}
	for {
		was := &example.Pod{}
		if err := s.Get(ctx, key, storage.GetOptions{IgnoreNotFound: ignoreNotFound}, was); err != nil {
			return err
		}
		version := was.ResourceVersion
		if err := preconditions.Check(key, was); err != nil {
			return err
		}
		known, err := s.ObjectResourceVersion(was)
		if err != nil {
			return err
		}
		obj, _, err := try(was, storage.ResponseMeta{ResourceVersion: known})
		if err != nil {
			return err
		}
		body, err := s.stored(obj)
		if err != nil {
			return err
		}
		stale, err := s.stale(ctx)
		if err != nil {
			return err
		}
		if stale {
			version += "&anew=true"
		}
		if err := s.write(http.MethodPut, path, key, version, body, out); !apierrors.IsConflict(err) {
			return err
		}
	}
}

func (s *store) Stats(ctx context.Context) (storage.Stats, error) {
	list := &example.PodList{}
	err := s.GetList(ctx, prefix, storage.ListOptions{Recursive: true, Predicate: storage.Everything}, list)
	return storage.Stats{ObjectCount: int64(len(list.Items))}, err
}

func (s *store) ReadinessCheck() error { return nil }

func (s *store) RequestWatchProgress(context.Context) error { return nil }

func (s *store) GetCurrentResourceVersion(context.Context) (uint64, error) {
	view, _ := s.now()
	return view.Version(), nil
}

func (s *store) EnableResourceSizeEstimation(storage.KeysFunc) error { return nil }

func (s *store) CompactRevision() int64 {
	view, _ := s.now()
	return int64(view.Compacted())
}
