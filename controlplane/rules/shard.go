package main

import (
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/sharding"
	"k8s.io/apiserver/pkg/features"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
)

// understandShards turns on the feature gate of shard selectors. It does nothing to a request without one, so a server
// for which the gate is off leaves the parameter out of what it asks.
func understandShards() error {
	return utilfeature.DefaultMutableFeatureGate.Set(string(features.ShardedListAndWatch) + "=true")
}

// shardsOf returns the ranges of a shard selector, which was validated, and its text.
func shardsOf(s sharding.Selector) (shards []Shard, text string) {
	if s == nil || s.Empty() {
		return nil, ""
	}
	for _, r := range s.Requirements() {
		_, field, _ := strings.Cut(r.Key, "object.metadata.")
		shards = append(shards, Shard{Field: field, First: limitOf(r.Start), Last: limitOf(r.End) - 1})
	}
	return shards, s.String()
}

// limitOf reads a limit of a range: 16 hexadecimal digits. 2^64, which has one more, becomes zero: the hash before it is the
// greatest one.
func limitOf(text string) uint64 {
	n, err := strconv.ParseUint(text[len(text)-16:], 16, 64)
	if err != nil {
		panic(err) // the digits were validated
	}
	return n
}
