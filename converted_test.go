package flyball

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/client"
)

// What may wait for the conversion of this program keeps it from being ready for a while at most.
func TestWaitsForConversion(t *testing.T) {
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

type converting []schema.GroupKind

func (c converting) Converts() []schema.GroupKind                 { return c }
func (c converting) ServeHTTP(http.ResponseWriter, *http.Request) {}

func TestConvertedKinds(t *testing.T) {
	order, pod := schema.GroupKind{Group: "shop.example.com", Kind: "Order"}, schema.GroupKind{Kind: "Pod"}
	for _, tt := range []struct {
		name        string
		path        string
		h           http.Handler
		order, pods bool
	}{
		{"of another kind", "/convert", converting{{Group: "shop.example.com", Kind: "Other"}}, false, false},
		{"of the kind", "/x", converting{order}, true, false},
		{"one that does not say", "/convert", http.NotFoundHandler(), true, false},
		{"no conversion", "/validate", http.NotFoundHandler(), false, false},
	} {
		w := newWebhooks()
		if err := w.handle(tt.path, tt.h); err != nil {
			t.Fatal(err)
		}
		if o, p := w.converts(order), w.converts(pod); o != tt.order || p != tt.pods {
			t.Errorf("%s: orders %v, pods %v", tt.name, o, p)
		}
	}
}
