package core

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// Gates are the feature gates of Kubernetes that a server may have. All are off by default, as on the real server.
type Gates struct {
	// ShardedListAndWatch makes lists, watches and deletions of collections observe the parameter shardSelector.
	ShardedListAndWatch bool
}

// ParseGates returns the gates with these names. The error names those that a server cannot have.
func ParseGates(names map[string]bool) (g Gates, err error) {
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if name != "ShardedListAndWatch" {
			return g, fmt.Errorf("the server has no feature gate %q; it has ShardedListAndWatch", name)
		}
		g.ShardedListAndWatch = names[name]
	}
	return g, nil
}

// open returns the URL of a request without the parameters of gates that are off. The real server ignores these, too.
func (g Gates) open(address string) string {
	path, query, ok := strings.Cut(address, "?")
	if !ok || g.ShardedListAndWatch {
		return address
	}
	gated := func(part string) bool {
		name, _, _ := strings.Cut(part, "=")
		name, err := url.QueryUnescape(name)
		return err == nil && name == "shardSelector"
	}
	parts := strings.Split(query, "&")
	if !slices.ContainsFunc(parts, gated) {
		return address
	}
	return path + "?" + strings.Join(slices.DeleteFunc(parts, gated), "&")
}
