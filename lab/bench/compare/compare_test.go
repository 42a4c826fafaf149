package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/flyball-io/flyball/internal/tier"
	"github.com/flyball-io/flyball/lab/bench/measure"
	_ "github.com/flyball-io/flyball/lab/bench/programs"
	"github.com/flyball-io/flyball/lab/bench/progress"
)

// small makes a run short.
var small = []string{"-objects", "500", "-events", "600", "-paced", "200", "-blocked", "1000", "-blocked-keys", "50", "-churn", "2", "-keys", "2000", "-settle", "50ms", "-reading", "1ms", "-runs", "1", "-o", "json"}

// A small run fills every case of every contender. All runs have the same programs; TestInterrupted builds its own.
func TestCases(t *testing.T) {
	tier.Audit(t, "runs the go command, and measures the heap")
	programs, err := measure.Build(t.Context(), []string{"flyball", "client-go", "controller-runtime", "client-go-flyball", "controller-runtime-flyball", "transport"}, t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := programs.Remove(); err != nil {
			t.Error(err)
		}
	})
	for name, args := range map[string][]string{
		"pods":               {"-kind", "pods", "-owners", "8", "-contenders", "flyball,client-go,controller-runtime,controller-runtime-metadata-best,client-go-flyball,controller-runtime-flyball"},
		"widgets over HTTP2": {"-kind", "widgets", "-owners", "8", "-tls", "-lists", "paged", "-best", "-cases", "hold,updates,paced,reads,relist", "-contenders", "flyball,client-go,controller-runtime,flyball-typed,client-go-metadata,transport"},
		"a cluster, twice":   {"-runs", "2", "-contenders", "flyball,client-go,controller-runtime,controller-runtime-metadata,transport"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out, log bytes.Buffer
			o, err := parse(append(slices.Concat(small, args), "-tapes", t.TempDir()), &log)
			if err != nil {
				t.Fatal(err)
			}
			if err := o.compare(t.Context(), programs, &out, progress.New(&log)); err != nil {
				t.Fatalf("%v\n%s", err, &log)
			}
			var r struct {
				Machine string
				Cases   []map[string]any
			}
			if err := json.Unmarshal(out.Bytes(), &r); err != nil || r.Machine == "" {
				t.Fatalf("%v\n%s", err, &out)
			}
			if len(r.Cases) < 20 {
				t.Errorf("%d cases", len(r.Cases))
			}
			for _, c := range r.Cases {
				for _, field := range []string{"name", "unit"} {
					if _, ok := c[field].(string); !ok {
						t.Errorf("%v: no %s", c, field)
					}
				}
				for _, field := range []string{"flyball", "client-go", "controller-runtime", "ratio_client_go", "ratio_controller_runtime"} {
					v, there := c[field]
					if !there {
						t.Errorf("%v: no %s", c["name"], field)
					}
					if n, ok := v.(float64); (!ok || n <= 0) && measurable(c["name"].(string), field) {
						t.Errorf("%v: %s is %v", c["name"], field, v)
					}
				}
			}
			var results measure.Results
			if err := json.Unmarshal(out.Bytes(), &results); err != nil {
				t.Fatal(err)
			}
			var table strings.Builder
			if err := results.Table(&table); err != nil {
				t.Fatal(err)
			}
			for _, c := range results.Cases {
				if !strings.Contains(table.String(), c.Name) {
					t.Errorf("%s is not in the table\n%s", c.Name, &table)
				}
			}
			for _, limited := range []string{"retained per object", "CPU until synced"} {
				transport := strings.Contains(strings.Join(args, " "), "transport")
				if c := results.Case(limited); (c.Limit == nil || *c.Limit <= 0) && (transport || c.Unit == "B") {
					t.Errorf("%s: no limit", limited)
				}
			}
			t.Logf("\n%s", &table)
		})
	}
}

// measurable reports whether a figure of a small run is certainly above zero.
func measurable(name, field string) bool {
	switch {
	case name == "read: shared header, allocations": // client-go's lent object costs none
		return field == "flyball"
	case name == "read: shared header":
		return !strings.Contains(field, "controller")
	case strings.Contains(name, ",000 other objects"): // there are not so many
		return false
	case strings.Contains(name, "CPU"), strings.Contains(name, "growth"), strings.Contains(name, "relist"), strings.Contains(name, "allocations") && strings.HasPrefix(name, "read: header"):
		return false
	}
	return true
}

// An invalid flag is reported by its name, before anything starts.
func TestMistakes(t *testing.T) {
	for want, args := range map[string][]string{
		`kind "pots"`:              {"-kind", "pots"},
		"objects":                  {"-objects", "0"},
		"at least 200":             {"-objects", "20"},
		"best and keep":            {"-best", "-keep-managed-fields"},
		"owners":                   {"-kind", "pods", "-owners", "-1"},
		`form "xml"`:               {"-form", "xml"},
		"form protobuf":            {"-kind", "widgets", "-form", "protobuf"},
		"unstructured objects":     {"-view", "unstructured", "-form", "protobuf"},
		`view "html"`:              {"-view", "html"},
		`lists "all"`:              {"-lists", "all"},
		`contender "flyball-fast"`: {"-contenders", "flyball-fast"},
		`case "speed"`:             {"-cases", "hold,speed"},
		"events":                   {"-events", "0"},
		"runs":                     {"-runs", "0"},
		"a cluster has pods":       {"-kind", "cluster/spoons"},
		"a cluster has its own":    {"-owners", "5"},
		"-o":                       {"-o", "xml"},
		"no arguments":             {"pods"},
		"-no-such-flag":            {"-no-such-flag"},
	} {
		var log bytes.Buffer
		if _, err := parse(args, &log); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want something about %s", args, err, want)
		}
	}
	var help bytes.Buffer
	if _, err := parse([]string{"-help"}, &help); err == nil || !strings.Contains(help.String(), "relist") {
		t.Errorf("%v\n%s", err, &help)
	}
}

// An interrupted run ends, and so do its contenders: Run waits for each.
func TestInterrupted(t *testing.T) {
	tier.Audit(t, "runs the go command")
	ctx, cancel := context.WithCancel(t.Context())
	log := writer(func(b []byte) {
		if bytes.Contains(b, []byte("2,000 a second")) {
			cancel()
		}
	})
	args := append(slices.Clone(small), "-cases", "paced", "-contenders", "flyball", "-objects", "2", "-kind", "events", "-tapes", t.TempDir())
	if err := compare(ctx, append(args, "-paced", "20000"), io.Discard, log); !errors.Is(err, context.Canceled) {
		t.Errorf("error: %v", err)
	}
}

type writer func([]byte)

func (w writer) Write(b []byte) (int, error) {
	w(b)
	return len(b), nil
}
