// Package deps is a placeholder while the tree is being built; it is removed before the first release.
package deps

import (
	_ "github.com/go-json-experiment/json/jsontext"
	_ "github.com/google/go-cmp/cmp"
	_ "github.com/tidwall/btree"
	_ "go.uber.org/goleak"
	_ "google.golang.org/protobuf/encoding/protowire"
	_ "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	_ "k8s.io/client-go/discovery"
	_ "k8s.io/client-go/kubernetes/scheme"
	_ "k8s.io/client-go/plugin/pkg/client/auth/exec"
	_ "k8s.io/client-go/rest"
	_ "k8s.io/client-go/restmapper"
	_ "k8s.io/client-go/tools/clientcmd"
	_ "k8s.io/client-go/transport"
	_ "pgregory.net/rapid"
	_ "sigs.k8s.io/json"
	_ "sigs.k8s.io/structured-merge-diff/v6/value"
)
