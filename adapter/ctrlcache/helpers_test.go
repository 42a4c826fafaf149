package ctrlcache

import "k8s.io/apimachinery/pkg/api/meta"

// noMapper is a mapper that nobody asks.
type noMapper struct{ meta.RESTMapper }
