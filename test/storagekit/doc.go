// Package storagekit runs the storage tests of k8s.io/apiserver over the core of the API server in memory. It has
// tests only.
package storagekit
