package store

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// BenchmarkPutAsked is BenchmarkPut with a user's index function: one reads a label, the other
// decodes the object.
func BenchmarkPutAsked(b *testing.B) {
	for name, by := range map[string]Indexer{
		"none": nil,
		"label": Transient(func(e *Entry) ([]string, error) {
			value, _ := e.Label("app")
			return []string{value}, nil
		}),
		"decode": Transient(func(e *Entry) ([]string, error) {
			var p corev1.Pod
			if err := e.Decode(&p); err != nil {
				return nil, err
			}
			return []string{p.Labels["app"]}, nil
		}),
	} {
		for _, batch := range []int{1, 64} {
			b.Run(fmt.Sprintf("%s/batch=%d", name, batch), func(b *testing.B) {
				s := benchStore(b)
				if by != nil {
					if err := s.AddIndex("asked", by); err != nil {
						b.Fatal(err)
					}
				}
				benchPut(b, s, batch)
			})
		}
	}
}
