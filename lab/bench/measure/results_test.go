package measure

import (
	"strings"
	"testing"

	"github.com/flyball-io/flyball/lab/bench/contender"
)

// The figure of a case is the median of the runs, and the table has their spread beside it.
func TestMedians(t *testing.T) {
	s, err := Defaults().Check()
	if err != nil {
		t.Fatal(err)
	}
	r := newResults(s)
	const name = "CPU until synced"
	r.add(contender.Flyball, []*figures{of(name, 3), of(name, 1), of(name, 2)})
	r.add(contender.ClientGo, []*figures{of(name, 10), of(name, 10), of(name, 10)})
	r.judge(s)
	c := r.Case(name)
	if *c.Flyball != 2 || c.Spread[contender.Flyball] != [2]float64{1, 3} || *c.RatioClientGo != 0.2 {
		t.Errorf("%+v", c)
	}
	var b strings.Builder
	if err := r.Table(&b); err != nil || !strings.Contains(b.String(), " 2 (1–3) ") || strings.Contains(b.String(), "10 (") {
		t.Errorf("%v\n%s", err, &b)
	}
}

// The load of the machine is known on Linux.
func TestLoad(t *testing.T) {
	var l load
	if l.String() != "" {
		t.Error("known without a sample")
	}
	l.sample()
	if text := l.String(); !strings.Contains(text, "load of the machine") {
		t.Error(text)
	}
}
