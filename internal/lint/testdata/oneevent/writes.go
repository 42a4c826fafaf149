package main

import (
	"context"
	"io"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/client"
)

// Order is the custom resource that is written.
type Order struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Item string `json:"item"`
	} `json:"spec"`
}

// DeepCopyObject implements [runtime.Object].
func (o *Order) DeepCopyObject() runtime.Object {
	c := *o
	c.ObjectMeta = *o.ObjectMeta.DeepCopy()
	return &c
}

var orders = schema.GroupVersion{Group: "shop.example.com", Version: "v1"}

// write is a write of one kind.
type write struct {
	name string
	do   func(context.Context) error
}

// writes has a write of each kind.
func writes(c client.Client) []write {
	fresh := &Order{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "b"}}
	before := &Order{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "b", UID: "v", ResourceVersion: "7"}}
	after := before.DeepCopyObject().(*Order)
	after.Spec.Item = "tea"
	return []write{
		{"create", func(ctx context.Context) error { _, err := client.Create(ctx, c, fresh); return err }},
		{"update", func(ctx context.Context) error { _, err := client.Update(ctx, c, after); return err }},
		{"patch", func(ctx context.Context) error {
			_, err := client.Patch(ctx, c, before, client.Diff(before, after))
			return err
		}},
		{"apply", func(ctx context.Context) error { _, err := client.Apply(ctx, c, fresh, "one"); return err }},
		{"delete", func(ctx context.Context) error { return client.Delete(ctx, c, after) }},
	}
}

// serveWrites answers writes of the Order, and has a Lease for the election.
func serveWrites(mux *http.ServeMux) {
	order := answer(`{"kind":"Order","apiVersion":"shop.example.com/v1","spec":{"item":"tea"},
		"metadata":{"namespace":"default","name":"b","uid":"v","resourceVersion":"8"}}`)
	path := "/apis/shop.example.com/v1/namespaces/default/orders"
	mux.HandleFunc(path, order)
	mux.HandleFunc(path+"/b", order)
	mux.HandleFunc("DELETE "+path+"/b", answer(`{"kind":"Status","apiVersion":"v1","status":"Success",
		"details":{"name":"b","group":"shop.example.com","kind":"orders","uid":"v"}}`))

	path = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
	mux.HandleFunc("GET "+path, func(w http.ResponseWriter, req *http.Request) { // a watch in which nothing happens
		answer("")(w, req)
		http.NewResponseController(w).Flush()
		<-req.Context().Done()
	})
	mux.HandleFunc("GET "+path+"/one", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404,
			"details":{"name":"one","group":"coordination.k8s.io","kind":"leases"}}`)
	})
	stored := func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Type", req.Header.Get("Content-Type"))
		io.Copy(w, req.Body)
	}
	mux.HandleFunc("POST "+path, stored)
	mux.HandleFunc("PUT "+path+"/one", stored)
}
