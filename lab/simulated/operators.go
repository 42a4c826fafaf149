package main

// operator is a published operator.
type operator struct {
	name, module, version string
}

var operators = []operator{
	{name: "jobset", module: "sigs.k8s.io/jobset", version: "v0.12.0"},
	{name: "kueue", module: "sigs.k8s.io/kueue", version: "v0.17.0"},
}

// scenario is the file of the test.
func (o operator) scenario() string { return "testdata/" + o.name + "/sim_test.go.txt" }
