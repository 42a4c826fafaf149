package readiness

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/ops/probe"
)

func TestNamesOfWatchesAreDistinct(t *testing.T) {
	watch := func(group, resource, ns string, metadata bool) cache.Watch {
		return cache.Watch{
			Kind:      informer.Kind{Resource: schema.GroupVersionResource{Group: group, Version: "v1", Resource: resource}},
			Selection: client.Selection{Namespace: ns, MetadataOnly: metadata},
		}
	}
	got := watchNames([]cache.Watch{
		watch("", "pods", "", false), watch("", "pods", "", true), watch("", "pods", "web", false),
		watch("", "pods", "", false), watch("apps", "deployments", "", false),
	})
	for _, name := range []string{"pods", "pods:metadata", "pods:web", "pods:2", "deployments.apps"} {
		if _, ok := got[name]; !ok {
			t.Errorf("no %q in %v", name, got)
		}
	}
	if name := CheckName("controller:my shop/" + strings.Repeat("x", 200)); len(name) != 128 || !strings.HasPrefix(name, "controller:my-shop-x") {
		t.Error(name)
	}
	if _, err := probe.New(CheckName("ä {}"), probe.Options{}); err != nil {
		t.Error(err)
	}
}

// A kind that may wait for the conversion of this program delays readiness for ten seconds at most.
func TestConversionExcusesLists(t *testing.T) {
	now := time.Now()
	for _, tt := range []struct {
		err   error
		since time.Time
		want  bool
	}{
		{nil, time.Time{}, false},
		{nil, now.Add(-9 * time.Second), false},
		{nil, now.Add(-10 * time.Second), true},
		{&client.InternalError{}, now, true},
		{&client.UnavailableError{}, now, true},
		{&client.TimeoutError{}, now, true},
		{&client.TooManyRequestsError{}, now, true},
		{errors.New("the stream ended early"), now, true},
		{fmt.Errorf("list: %w", &client.ForbiddenError{}), now.Add(-time.Hour), false},
		{&client.UnauthorizedError{}, now.Add(-time.Hour), false},
		{&client.NotServedError{}, now.Add(-time.Hour), false},
	} {
		if got := waitsForConversion(tt.err, tt.since, now); got != tt.want {
			t.Errorf("%T %v, %v ago: %v, want %v", tt.err, tt.err, now.Sub(tt.since), got, tt.want)
		}
	}
}
