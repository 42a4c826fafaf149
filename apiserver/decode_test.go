package apiserver_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/flyball-io/flyball/scheme"
)

const (
	protobufType   = "application/vnd.kubernetes.protobuf"
	yamlType       = "application/yaml"
	protobufPrefix = "k8s\x00"
)

// comparedHeaders are the headers that must be equal.
var comparedHeaders = []string{"Content-Type", "Cache-Control", "Retry-After", "Allow", "Location", "Content-Encoding", "Vary", "Warning", "X-Content-Type-Options"}

// headers returns the headers that are compared.
func (s *session) headers(h http.Header) string {
	var out []string
	for _, name := range comparedHeaders {
		values := slices.DeleteFunc(slices.Clone(h.Values(name)), func(v string) bool { return v == "Accept-Encoding" }) // DIFFERENCES.md
		if len(values) > 0 && !(name == "Cache-Control" && values[0] == "no-cache, private") {
			out = append(out, fmt.Sprintf("%s=%q", name, values))
		}
	}
	return s.hide(strings.ReplaceAll(strings.Join(out, " "), `Content-Type=["application/json"]`, "json"))
}

// kindsOfServer are the types of protobuf.
var kindsOfServer = func() *runtime.Scheme {
	s := scheme.New()
	if err := apiextensionsv1.AddToScheme(s); err != nil {
		panic(err)
	}
	// The types of APIServices are in no module that this one has. Their metadata is where that of all kinds is.
	gv := schema.GroupVersion{Group: "apiregistration.k8s.io", Version: "v1"}
	s.AddKnownTypeWithName(gv.WithKind("APIService"), &metav1.PartialObjectMetadata{})
	s.AddKnownTypeWithName(gv.WithKind("APIServiceList"), &metav1.PartialObjectMetadataList{})
	return s
}()

// json returns a body as JSON, also if it is protobuf. A body that is no object stays as it is.
func (s *session) json(text []byte, contentType string) []byte {
	switch {
	case strings.HasPrefix(contentType, protobufType):
		return s.fromProtobuf(text)
	case strings.HasPrefix(contentType, yamlType):
		if out, err := yaml.YAMLToJSON(text); err == nil {
			return out
		}
	}
	return text
}

func (s *session) fromProtobuf(text []byte) []byte {
	raw, ok := bytes.CutPrefix(text, []byte(protobufPrefix))
	if !ok {
		return text
	}
	var u runtime.Unknown
	if err := u.Unmarshal(raw); err != nil {
		s.t.Fatalf("protobuf: %v", err)
	}
	gvk := schema.FromAPIVersionAndKind(u.APIVersion, u.Kind)
	obj, err := kindsOfServer.New(gvk)
	if err != nil {
		s.t.Fatalf("protobuf: %v", err)
	}
	m, ok := obj.(interface{ Unmarshal([]byte) error })
	if !ok {
		s.t.Fatalf("%s has no protobuf", gvk)
	}
	if err := m.Unmarshal(u.Raw); err != nil {
		s.t.Fatalf("protobuf of %s: %v", gvk, err)
	}
	obj.GetObjectKind().SetGroupVersionKind(gvk)
	out, err := json.Marshal(obj)
	if err != nil {
		s.t.Fatal(err)
	}
	return out
}

// watch opens a watch. The events are read by next.
func (s *session) watch(path string, header ...string) *events {
	s.t.Helper()
	path = s.path(path)
	if !strings.Contains(path, "timeoutSeconds") { // an event that never comes is an answer, too
		path += "&timeoutSeconds=6"
	}
	resp := s.request("GET", path, "", header...)
	s.t.Cleanup(func() { resp.Body.Close() })
	s.note("watch %s: %d %s", s.hide(path), resp.StatusCode, s.headers(resp.Header))
	return &events{s: s, r: bufio.NewReader(resp.Body), protobuf: strings.HasPrefix(resp.Header.Get("Content-Type"), protobufType)}
}

type events struct {
	s        *session
	r        *bufio.Reader
	protobuf bool
}

// next waits for n events, and writes them down.
func (e *events) next(n int) {
	e.s.t.Helper()
	for range n {
		text, err := e.read()
		if err != nil {
			e.s.note("the watch ended: %v", err)
			return
		}
		e.s.note("event\n%s", e.s.normal(text))
	}
}

// read returns the next event as JSON. It skips bookmarks that come by the clock.
func (e *events) read() ([]byte, error) {
	for {
		text, err := e.frame()
		if err == nil && bytes.Contains(text, []byte(`"BOOKMARK"`)) && !bytes.Contains(text, []byte("initial-events-end")) {
			continue
		}
		return text, err
	}
}

// frame returns the next event as JSON.
func (e *events) frame() ([]byte, error) {
	if !e.protobuf {
		return e.r.ReadBytes('\n')
	}
	var size [4]byte
	if _, err := io.ReadFull(e.r, size[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(size[:])
	if n > 64<<20 { // such as of a body that is no frame
		return nil, fmt.Errorf("a frame of %d bytes", n)
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(e.r, text); err != nil {
		return nil, err
	}
	var event metav1.WatchEvent
	if err := event.Unmarshal(text); err != nil {
		return nil, err
	}
	return slices.Concat(fmt.Appendf(nil, `{"type":%q,"object":`, event.Type), e.s.fromProtobuf(event.Object.Raw), []byte("}")), nil
}

// end waits for the end of the watch.
func (e *events) end() {
	rest, err := io.ReadAll(e.r)
	e.s.note("the rest of the watch: %s %v", e.s.hide(string(rest)), err)
}

// all writes down all events until the end of the watch.
func (e *events) all() {
	for {
		text, err := e.read()
		if err != nil {
			e.s.note("the watch ended: %v", err)
			return
		}
		e.s.note("event\n%s", e.s.normal(text))
	}
}

// settle waits until a changed definition is in force on the real server, which has no signal for that.
func (s *session) settle() {
	if s.real {
		time.Sleep(time.Second)
	}
}
