package option_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/flyball-io/flyball/option"
)

func TestErrorSaysWhereAndWraps(t *testing.T) {
	cause := errors.New("is empty")
	inner := &option.Error{Of: "leader.Options", Field: "Name", Err: cause}
	outer := error(&option.Error{Of: "flyball.Options", Field: "Leader", Err: inner})
	if got, want := outer.Error(), "flyball.Options: Leader: leader.Options: Name: is empty"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if !errors.Is(outer, cause) {
		t.Error("the cause is lost")
	}
	if e, ok := errors.AsType[*option.Error](outer); !ok || e.Field != "Leader" {
		t.Errorf("got %v, want the outer one first", e)
	}
}

func ExampleError() {
	err := error(&option.Error{Of: `controller "pods"`, Field: "Workers", Err: errors.New("negative")})
	if bad, ok := errors.AsType[*option.Error](err); ok {
		fmt.Println(bad.Field)
	}
	fmt.Println(err)
	// Output:
	// Workers
	// controller "pods": Workers: negative
}
