package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/kubernetes/pkg/util/hash"
)

// hashPath is the path of requests for the hash of a Pod template. The body is the template, and the parameter
// collisions is the collision count of its owner. No server of Kubernetes has this path, and clients cannot ask it.
const hashPath = "/flyball/template-hash"

// templateHash answers with the hash that controllers put into names and labels. It depends on the Go types of
// Kubernetes, names of fields included.
func templateHash(w http.ResponseWriter, r *http.Request) {
	text, err := hashOf(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	_, _ = io.WriteString(w, text) // into memory
}

func hashOf(r *http.Request) (string, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return "", err
	}
	var sent, template corev1.PodTemplateSpec
	if err := json.Unmarshal(body, &sent); err != nil {
		return "", fmt.Errorf("the template: %w", err)
	}
	// The real controllers read protobuf, which has no empty lists.
	raw, err := sent.Marshal()
	if err != nil {
		return "", err
	}
	if err := template.Unmarshal(raw); err != nil {
		return "", err
	}
	sum := fnv.New32a()
	hash.DeepHashObject(sum, template)
	if text := r.URL.Query().Get("collisions"); text != "" {
		n, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			return "", fmt.Errorf("collisions: %w", err)
		}
		var b [8]byte
		binary.LittleEndian.PutUint32(b[:], uint32(n))
		if _, err := sum.Write(b[:]); err != nil {
			return "", err
		}
	}
	return rand.SafeEncodeString(fmt.Sprint(sum.Sum32())), nil
}
