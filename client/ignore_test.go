package client_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/object"
)

func TestIgnoreNotFoundKeepsOtherErrors(t *testing.T) {
	absent := client.NewNotFound(client.Call{Verb: "get", Kind: "Pod", Key: object.Key{Name: "a"}})
	for _, err := range []error{nil, absent, fmt.Errorf("reading: %w", absent)} {
		if got := client.IgnoreNotFound(err); got != nil {
			t.Errorf("IgnoreNotFound(%v) = %v", err, got)
		}
	}
	other := errors.New("other")
	if got := client.IgnoreNotFound(other); got != other {
		t.Errorf("IgnoreNotFound(%v) = %v", other, got)
	}
}
