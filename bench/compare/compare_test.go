package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/flyball-io/flyball/bench/corpus"
	"github.com/flyball-io/flyball/bench/replay"
)

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// A small run fills every case of every contender, over both transports.
func TestCompare(t *testing.T) {
	for _, s := range []setup{
		{spec: corpus.Spec{Kind: "pods", Objects: 400, Owners: 8, ManagedFields: true}, form: replay.Protobuf},
		{spec: corpus.Spec{Kind: "widgets", Objects: 200, Owners: 4}, form: replay.JSON, tls: true, best: true},
	} {
		s.flat, s.paced, s.reading = 300, 200, time.Millisecond
		s.contenders = []string{"flyball", "client-go", "controller-runtime", "controller-runtime-metadata"}
		if s.form == replay.JSON {
			s.contenders = s.contenders[:3]
		}
		r, err := run(t.Context(), s, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range r.Cases {
			if l.Name == "collector's CPU until synced" || l.Name == "forced collection, CPU" || strings.HasPrefix(l.Name, "CPU") {
				continue // too little to be measured
			}
			if l.Flyball <= 0 || l.CG <= 0 || l.CR <= 0 || l.ByCG <= 0 || l.ByCR <= 0 {
				t.Errorf("%s: %+v", l.Name, l)
			}
		}
		var out strings.Builder
		if err := r.table(&out); err != nil || strings.Count(out.String(), "\n") != len(order)+4 {
			t.Errorf("%v\n%s", err, &out)
		}
		var back struct{ Cases []map[string]any }
		b, _ := json.Marshal(r)
		if err := json.Unmarshal(b, &back); err != nil || len(back.Cases) != len(order) || back.Cases[0]["ratio_client_go"] == nil {
			t.Errorf("%v %s", err, b)
		}
	}
}
