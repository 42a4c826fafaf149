//go:build keepmodules

package main

// Kubernetes' own go.mod names these modules without a usable version, so
// they have to be required here although nothing is linked from them.
// The build tag is never set; `go mod tidy` reads the imports all the same.
import (
	_ "k8s.io/cri-streaming/pkg/streaming"
	_ "k8s.io/sample-apiserver/pkg/apis/wardle"
)
