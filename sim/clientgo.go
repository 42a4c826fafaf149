package sim

import (
	"reflect"
	"runtime"
	"slices"
	"strings"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// The error handlers of client-go let an error wait for a millisecond after the last one of the process. That time is
// of another run, or real, so the wait would take years of virtual time.
func init() {
	utilruntime.ErrorHandlers = slices.DeleteFunc(utilruntime.ErrorHandlers, func(h utilruntime.ErrorHandler) bool {
		return strings.Contains(runtime.FuncForPC(reflect.ValueOf(h).Pointer()).Name(), "/util/runtime.backoffError")
	})
}
