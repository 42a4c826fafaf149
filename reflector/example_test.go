package reflector_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/reflector"
)

// printer is a Sink that tells what it gets.
type printer struct{ stop func() }

func (p printer) Commit() {}

func (p printer) Apply(u *reflector.Update) {
	switch u.What {
	case reflector.Put:
		fmt.Println("  there is", u.Entry.Key())
	case reflector.Delete:
		fmt.Println("  gone is", u.Entry.Key())
		p.stop()
	case reflector.Replace:
		fmt.Println("a list begins:", u.Reason)
	case reflector.Sweep:
		fmt.Println("complete at", u.Version)
	case reflector.Discard:
		fmt.Println("the list failed")
	case reflector.Unusable:
		fmt.Println("problem:", u.Err)
	}
}

// recorded is a Source that plays what a server once said.
type recorded struct{ list, watch string }

var recordedKind = &wire.Kind{GVK: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}}

func (r recorded) List(context.Context, wire.ListQuery) (*wire.List, error) {
	return wire.NewList(io.NopCloser(strings.NewReader(r.list)), "application/json", recordedKind, wire.Limits{})
}

func (r recorded) Watch(context.Context, wire.WatchQuery) (*wire.Watch, error) {
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

	r, err := reflector.New(source, sink, reflector.Options{Paged: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	err = r.Run(ctx)
	fmt.Println(err, "at", r.State().ResourceVersion)
	// Output:
	// a list begins: first
	//   there is default/a
	//   there is default/b
	// complete at 7
	//   gone is default/a
	// seen enough at 8
}
