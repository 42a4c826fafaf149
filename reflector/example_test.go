package reflector_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/reflector"
	"github.com/flyball-io/flyball/store"
	"github.com/flyball-io/flyball/wire"
)

// printer is a Sink that tells what it gets.
type printer struct{ stop func() }

func (p printer) BeginReplace(bool, reflector.Reason) { fmt.Println("begin") }
func (p printer) Upsert(e *store.Entry)               { fmt.Println("  there is", e.Header().Key) }
func (p printer) Delete(e *store.Entry)               { fmt.Println("  gone is", e.Header().Key); p.stop() }
func (p printer) EndReplace(version string)           { fmt.Println("complete at", version) }
func (p printer) Settle()                             {}
func (p printer) AbortReplace()                       { fmt.Println("broken off") }
func (p printer) Report(problem reflector.Problem)    { fmt.Println("problem:", problem.Err) }

// recorded is a Source that plays what a server once said.
type recorded struct{ list, watch string }

var recordedKind = &wire.Kind{GVK: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}}

func (r recorded) List(context.Context, client.ListQuery) (*wire.List, error) {
	return wire.NewList(io.NopCloser(strings.NewReader(r.list)), "application/json", recordedKind, wire.Limits{})
}

func (r recorded) Watch(context.Context, client.WatchQuery) (*wire.Watch, error) {
	return wire.NewWatch(io.NopCloser(strings.NewReader(r.watch)), "application/json", recordedKind, wire.Limits{})
}

// How do I mirror a kind? The source is a client.Feed; here it plays a recording.
func ExampleReflector() {
	source := recorded{
		list: `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[
			{"metadata":{"namespace":"default","name":"a","resourceVersion":"3"}},
			{"metadata":{"namespace":"default","name":"b","resourceVersion":"5"}}]}`,
		watch: `{"type":"DELETED","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"namespace":"default","name":"a","resourceVersion":"8"}}}`,
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	sink := printer{stop: func() { cancel(errors.New("seen enough")) }}

	r, err := reflector.New(source, sink, reflector.Options{Config: reflector.Config{Paged: true}})
	if err != nil {
		fmt.Println(err)
		return
	}
	err = r.Run(ctx)
	fmt.Println(err, "at", r.State().ResourceVersion)
	// Output:
	// begin
	//   there is default/a
	//   there is default/b
	// complete at 7
	//   gone is default/a
	// seen enough at 8
}
