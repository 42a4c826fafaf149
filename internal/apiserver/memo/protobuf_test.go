package memo

import (
	"bytes"
	"slices"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flyball-io/flyball/internal/apiserver/rules"
	"github.com/flyball-io/flyball/internal/fieldsv1"
)

// message is an object that has a form in protobuf.
type message interface{ Marshal() ([]byte, error) }

func inEnvelope(t *testing.T, o message) []byte {
	t.Helper()
	raw, err := o.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	body, err := (&runtime.Unknown{TypeMeta: runtime.TypeMeta{Kind: "K", APIVersion: "v1"}, Raw: raw}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return append([]byte("k8s\x00"), body...)
}

// The stamps of a body in protobuf are those of the same body in JSON.
func TestPlacesInProtobuf(t *testing.T) {
	at := func(s int) *metav1.Time { return &metav1.Time{Time: noon.Add(time.Duration(s) * time.Second)} }
	of := func(c byte) types.UID { return types.UID(string(c) + uid[1:]) }
	version, id := "456", of('d')
	deletion := &metav1.DeleteOptions{GracePeriodSeconds: new(int64(5)), Preconditions: &metav1.Preconditions{UID: &id, ResourceVersion: &version}}
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
		Name: "j", UID: of('a'), ResourceVersion: "123", Generation: 7, CreationTimestamp: *at(1), DeletionTimestamp: at(2), DeletionGracePeriodSeconds: new(int64(9)),
		OwnerReferences: []metav1.OwnerReference{{UID: of('b'), Name: "o"}, {UID: of('c'), Name: "p"}},
		ManagedFields:   []metav1.ManagedFieldsEntry{{Manager: "m", Time: at(3), FieldsV1: fieldsv1.New(`{"f:uid":{}}`)}, {Manager: "n"}},
	}}
	for what, c := range map[string]struct {
		method, url string
		body        message
		want        []string
	}{
		"an update":   {"PUT", "/apis/batch/v1/namespaces/ns/jobs/j", job, []string{string(of('a')), "123", secondsOf(timeOf(at(1).UnixNano())), secondsOf(timeOf(at(2).UnixNano())), string(of('b')), string(of('c')), secondsOf(timeOf(at(3).UnixNano()))}},
		"a create":    {"POST", "/apis/batch/v1/namespaces/ns/jobs", &batchv1.Job{ObjectMeta: metav1.ObjectMeta{GenerateName: "j-"}}, nil},
		"a delete":    {"DELETE", "/apis/batch/v1/namespaces/ns/jobs/j", deletion, []string{string(id), version}},
		"an eviction": {"POST", "/api/v1/namespaces/ns/pods/p/eviction", &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "p"}, DeleteOptions: deletion}, []string{string(id), version}},
	} {
		req := &rules.Request{Method: c.method, URL: c.url, ContentType: "application/vnd.kubernetes.protobuf", Body: inEnvelope(t, c.body)}
		stamps, generates, ok := stampsOfBody(req)
		var got []string
		for _, s := range stamps {
			got = append(got, string(s.of(req.Body)))
		}
		if !ok || !slices.Equal(got, c.want) || generates != (what == "a create") {
			t.Errorf("%s: got %q, %v, %v, want %q", what, got, generates, ok, c.want)
		}
		if _, _, ok := stampsOfBody(&rules.Request{Method: c.method, URL: c.url, ContentType: req.ContentType, Body: req.Body[:len(req.Body)-3]}); ok {
			t.Errorf("%s that is cut has stamps", what)
		}
	}
	for what, body := range map[string]message{
		"nanoseconds": odd{[]byte("\x0a\x0c\x42\x0a\x08\xc0\xd6\x96\xc9\x06\x10\x01\x10\x00")},
		"an old time": &batchv1.Job{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.Unix(5, 0)}},
		"a number":    odd{[]byte("\x0a\x02\x28\x07")},
	} {
		req := &rules.Request{Method: "PUT", URL: "/x", ContentType: "application/vnd.kubernetes.protobuf", Body: inEnvelope(t, body)}
		if got, _, ok := stampsOfBody(req); ok {
			t.Errorf("%s: %+v", what, got)
		}
	}
	if _, _, ok := stampsOfBody(&rules.Request{ContentType: "application/vnd.kubernetes.protobuf", Body: bytes.Repeat([]byte("x"), 9)}); ok {
		t.Error("what is no protobuf has stamps")
	}
}

// odd is a message that no type writes.
type odd struct{ raw []byte }

func (o odd) Marshal() ([]byte, error) { return o.raw, nil }
