package memo

import (
	"slices"
	"strings"

	"github.com/flyball-io/flyball/internal/apiserver/rules"
)

// secretKeys begins the keys of Secrets.
const secretKeys = "/core/secrets/"

// secret reports whether a question or its answer may have credentials: it is about Secrets or tokens, or sees a Secret.
// A namespace with the name of these resources is taken for them.
func secret(req *rules.Request) bool {
	path, _, _ := strings.Cut(req.URL, "?")
	for part := range strings.SplitSeq(path, "/") {
		if slices.Contains([]string{"secrets", "token", "tokenreviews"}, part) {
			return true
		}
	}
	for k := range req.Objects {
		if strings.HasPrefix(k, secretKeys) {
			return true
		}
	}
	return false
}
