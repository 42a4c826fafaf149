package ctrlcache

import (
	"reflect"
	"runtime"

	toolscache "k8s.io/client-go/tools/cache"
	crcache "sigs.k8s.io/controller-runtime/pkg/cache"
)

// stripCode is where the function that TransformStripManagedFields of controller-runtime returns stands.
var stripCode = codeOf(crcache.TransformStripManagedFields())

// stripsManagedFields reports whether f is that function. The compiler may have a copy of it in each caller, under
// another name and address, so functions are told apart by the line of the source that they begin at.
func stripsManagedFields(f toolscache.TransformFunc) bool { return codeOf(f) == stripCode }

// position is a line of the source. File is the path from the module, or on this machine, as the program was built.
type position struct {
	file string
	line int
}

func codeOf(f toolscache.TransformFunc) position {
	at := reflect.ValueOf(f).Pointer()
	var p position
	if code := runtime.FuncForPC(at); code != nil {
		p.file, p.line = code.FileLine(code.Entry())
	}
	return p
}
