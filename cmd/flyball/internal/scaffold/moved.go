package scaffold

import (
	"bytes"
	"go/format"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
)

// moved are the packages of Flyball that had other paths in earlier versions, below its module.
var moved = map[string]string{
	"cert": "ops/cert", "leader": "ops/leader", "metrics": "ops/metrics", "probe": "ops/probe", "rbac": "ops/rbac", "serve": "ops/serve",
	"test/apiserver": "apiserver",
}

// moveImports gives the imports of a Go file their new paths. A file that is formatted stays so. One that is no Go, or
// that imports no moved package, is returned as it is.
func moveImports(name string, src []byte) []byte {
	if !strings.HasSuffix(name, ".go") || !bytes.Contains(src, []byte(flyballModule)) {
		return src
	}
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, src, parser.ImportsOnly)
	if err != nil {
		return src
	}
	out := src
	for _, spec := range slices.Backward(f.Imports) {
		path, err := strconv.Unquote(spec.Path.Value)
		to, was := moved[strings.TrimPrefix(path, flyballModule+"/")]
		if err != nil || !was || !strings.HasPrefix(path, flyballModule+"/") {
			continue
		}
		from, end := fset.Position(spec.Path.Pos()).Offset, fset.Position(spec.Path.End()).Offset
		out = slices.Concat(out[:from], []byte(strconv.Quote(flyballModule+"/"+to)), out[end:])
	}
	if bytes.Equal(out, src) {
		return src
	}
	if is, err := format.Source(src); err == nil && bytes.Equal(is, src) {
		if out, err := format.Source(out); err == nil {
			return out
		}
	}
	return out
}
