package main

import (
	"regexp"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
)

// registryKey returns the key of an object in the etcd of a real server. Some error texts contain it.
func registryKey(key string) string { return "/registry" + realKey(key) }

// realKey returns the key of a real server without /registry. Errors of dry runs contain it.
func realKey(key string) string {
	group, rest, _ := strings.Cut(strings.TrimPrefix(key, "/"), "/")
	resource, name, _ := strings.Cut(rest, "/")
	if old := registryNames[resource]; old != "" && (group == "core" || group == "networking.k8s.io") {
		resource = old
	}
	if group == apiextensions.GroupName || group == registrationGroup || group != "core" && strings.Contains(group, ".") && !legacyscheme.Scheme.IsGroupRegistered(group) {
		resource = group + "/" + resource
	}
	return "/" + resource + "/" + name
}

// inKey matches the key in the error text of a conflict.
var inKey = regexp.MustCompile(`Key: (/[^,]+), ResourceVersion`)

// withRealKeys replaces our keys in the error text of a conflict by those of a real server.
func withRealKeys(text []byte) []byte {
	return inKey.ReplaceAllFunc(text, func(found []byte) []byte {
		key := string(inKey.FindSubmatch(found)[1])
		if strings.HasPrefix(key, "/registry/") {
			return found
		}
		return []byte("Key: " + realKey(key) + ", ResourceVersion")
	})
}

// registryNames has the resources whose keys in etcd have an older name.
var registryNames = map[string]string{
	"replicationcontrollers": "controllers", "endpoints": "services/endpoints", "nodes": "minions", "services": "services/specs", "ingresses": "ingress",
}
