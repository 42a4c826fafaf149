package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/object"
)

// exampleServer stands for a cluster: it answers each path with a text from this map.
func exampleServer() *httptest.Server {
	answers := map[string]string{
		"GET /api":  `{"kind":"APIVersions","versions":["v1"]}`,
		"GET /apis": `{"kind":"APIGroupList","apiVersion":"v1","groups":[{"name":"apps","versions":[{"groupVersion":"apps/v1","version":"v1"}]},{"name":"example.com","versions":[{"groupVersion":"example.com/v1","version":"v1"}]}]}`,
		"GET /api/v1": `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"v1","resources":[
			{"name":"pods","kind":"Pod","namespaced":true},{"name":"configmaps","kind":"ConfigMap","namespaced":true},{"name":"secrets","kind":"Secret","namespaced":true}]}`,
		"GET /apis/apps/v1":        `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"apps/v1","resources":[{"name":"deployments","kind":"Deployment","namespaced":true}]}`,
		"GET /apis/example.com/v1": `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"example.com/v1","resources":[{"name":"widgets","kind":"Widget","namespaced":true}]}`,

		"GET /api/v1/namespaces/web/pods/front": `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"front","namespace":"web"},"status":{"phase":"Running"}}`,
		"GET /api/v1/namespaces/web/pods": `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"9"},"items":[
			{"metadata":{"name":"back","namespace":"web"}},{"metadata":{"name":"front","namespace":"web"}}]}`,
		"GET /api/v1/namespaces/web/pods?watch": `{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"front","namespace":"web","resourceVersion":"10"}}}
			{"type":"DELETED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"front","namespace":"web","resourceVersion":"11"}}}`,
		"GET /apis/example.com/v1/namespaces/web/widgets/w": `{"kind":"Widget","apiVersion":"example.com/v1","metadata":{"name":"w","namespace":"web","uid":"4f1c","resourceVersion":"7"},"spec":{"size":3,"color":"red"}}`,
		"GET /api/v1/namespaces/web/secrets":                `403 {"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"secrets is forbidden: User \"ann\" cannot list resource \"secrets\" in API group \"\" in the namespace \"web\""}`,
	}
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		route := r.Method + " " + r.URL.Path
		if r.URL.Query().Get("watch") != "" {
			route += "?watch"
		}
		body := answers[route]
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.Method == http.MethodPut:
			sent, _ := io.ReadAll(r.Body)
			fmt.Print("server got: ", string(sent))
			body = string(sent)
		case r.Method == http.MethodPatch && strings.HasSuffix(r.URL.Path, "/scale"):
			body = `{"kind":"Scale","apiVersion":"autoscaling/v1","metadata":{}}`
			fallthrough
		case r.Method == http.MethodPatch:
			sent, _ := io.ReadAll(r.Body)
			fmt.Println("server got:", string(sent))
			if body == "" {
				body = `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"settings","namespace":"web","resourceVersion":"8"}}`
			}
		case strings.HasPrefix(body, "403 "):
			w.WriteHeader(http.StatusForbidden)
			body = body[4:]
		case body == "":
			w.WriteHeader(http.StatusNotFound)
			name := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
			json.NewEncoder(w).Encode(metav1.Status{
				TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: 404,
				Reason: metav1.StatusReasonNotFound, Message: fmt.Sprintf("pods %q not found", name), Details: &metav1.StatusDetails{Name: name, Kind: "pods"},
			})
			return
		}
		io.WriteString(w, body)
	}))
}

// connect returns a client for the example server. A program reads its configuration instead:
//
//	cfg, err := client.Config(client.ConfigOptions{})
//	c, err := client.New(cfg, client.Options{})
//	err = c.Check(ctx)
func connect() (c *client.Live, stop func()) {
	srv := exampleServer()
	c, err := client.New(&rest.Config{Host: srv.URL}, client.Options{})
	if err != nil {
		panic(err)
	}
	return c, func() {
		c.Close()
		srv.Close()
	}
}

func ExampleGet() {
	c, stop := connect()
	defer stop()
	ctx := context.Background()

	pod, err := client.Get[corev1.Pod](ctx, c, object.Key{Namespace: "web", Name: "front"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(pod.Name, pod.Status.Phase)
	// Output: front Running
}

func ExampleGet_unstructured() {
	c, stop := connect()
	defer stop()
	ctx := context.Background()

	widget := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}
	u, err := client.Get[unstructured.Unstructured](ctx, c, object.Key{Namespace: "web", Name: "w"}, client.OfKind(widget))
	if err != nil {
		fmt.Println(err)
		return
	}
	size, _, _ := unstructured.NestedInt64(u.Object, "spec", "size")
	fmt.Println(u.GetName(), size)
	// Output: w 3
}

func ExampleGet_notFound() {
	c, stop := connect()
	defer stop()
	ctx := context.Background()

	_, err := client.Get[corev1.Pod](ctx, c, object.Key{Namespace: "web", Name: "nobody"})
	if gone, ok := errors.AsType[*client.NotFoundError](err); ok {
		fmt.Println("there is no", gone.Key)
	}
	fmt.Println(err)
	// Output:
	// there is no web/nobody
	// get pods web/nobody: pods "nobody" not found
}

func ExampleList() {
	c, stop := connect()
	defer stop()
	ctx := context.Background()

	for pod, err := range client.List[corev1.Pod](ctx, c, client.InNamespace("web"), client.MatchingLabels{"app": "shop"}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(pod.Name)
	}
	// Output:
	// back
	// front
}

func ExampleList_forbidden() {
	c, stop := connect()
	defer stop()
	ctx := context.Background()

	for _, err := range client.List[corev1.Secret](ctx, c, client.InNamespace("web")) {
		if no, ok := errors.AsType[*client.ForbiddenError](err); ok {
			fmt.Printf("%s may not %s %s in %s\n", no.User, no.Verb, no.Resource.Resource, no.Key.Namespace)
		}
	}
	// Output: ann may not list secrets in web
}

func ExampleDiffWithLock() {
	c, stop := connect()
	defer stop()
	ctx := context.Background()

	before := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "settings", ResourceVersion: "7"},
		Data:       map[string]string{"color": "red", "size": "3"},
	}
	after := before.DeepCopy()
	after.Data["color"] = "blue"
	got, err := client.Patch(ctx, c, before, client.DiffWithLock(before, after))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("now at version", got.ResourceVersion)
	// Output:
	// server got: {"data":{"color":"blue"},"metadata":{"resourceVersion":"7"}}
	// now at version 8
}

func ExampleApply() {
	c, stop := connect()
	defer stop()
	ctx := context.Background()

	want := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "settings"},
		Data:       map[string]string{"color": "blue"},
	}
	if _, err := client.Apply(ctx, c, want, "painter", client.Force{}); err != nil {
		fmt.Println(err)
	}
	// Output:
	// server got: {"apiVersion":"v1","data":{"color":"blue"},"kind":"ConfigMap","metadata":{"name":"settings","namespace":"web"}}
}

func ExampleSetScale() {
	c, stop := connect()
	defer stop()
	ctx := context.Background()

	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "front"}}
	if err := client.SetScale(ctx, c, d, 3); err != nil {
		fmt.Println(err)
	}
	// Output: server got: {"spec":{"replicas":3}}
}

func ExampleWatch() {
	c, stop := connect()
	defer stop()
	ctx := context.Background()

	w, err := client.Watch[corev1.Pod](ctx, c, client.InNamespace("web"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer w.Stop()
	for ev, err := range w.Events() {
		if closed, ok := errors.AsType[*client.WatchClosedError](err); ok {
			fmt.Println("closed; go on from version", closed.ResourceVersion)
			return
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(ev.Type, ev.Object.Name)
	}
	// Output:
	// ADDED front
	// DELETED front
	// closed; go on from version 11
}
