package memo

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/flyball-io/flyball/internal/apiserver/rules"
)

// An answer is that of the function, whatever was asked before, and what was asked of late is not asked again.
func TestExactAnswersAreThoseOfTheFunction(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		asked := map[string]int{}
		size := rapid.SampledFrom([]int{0, 4096, 1 << 20}).Draw(r, "size")
		over := NewExact(size).Over(func(q *rules.Request) (*rules.Answer, error) {
			asked[q.URL+string(q.Body)]++
			if q.Method == "FAIL" {
				return nil, fmt.Errorf("failed")
			}
			return &rules.Answer{Body: []byte(q.Method + q.URL + string(q.Body) + fmt.Sprint(q.Now, q.Version))}, nil
		})
		for range rapid.IntRange(1, 60).Draw(r, "questions") {
			q := &rules.Request{
				Method: rapid.SampledFrom([]string{"GET", "POST", "FAIL"}).Draw(r, "method"), URL: rapid.SampledFrom([]string{"/a", "/b"}).Draw(r, "url"),
				Body: []byte(rapid.SampledFrom([]string{"", "x", "y"}).Draw(r, "body")), Now: rapid.Int64Range(0, 2).Draw(r, "now"), Version: rapid.Uint64Range(0, 2).Draw(r, "version"),
			}
			a, err := over(q)
			if q.Method == "FAIL" {
				if err == nil {
					r.Fatal("an error was forgotten")
				}
				continue
			}
			if want := q.Method + q.URL + string(q.Body) + fmt.Sprint(q.Now, q.Version); err != nil || string(a.Body) != want {
				r.Fatalf("%q, %v, want %q", a.Body, err, want)
			}
			before := len(asked)
			n := asked[q.URL+string(q.Body)]
			if b, err := over(q); err != nil || string(b.Body) != string(a.Body) || size > 4096 && asked[q.URL+string(q.Body)] != n || len(asked) != before {
				r.Fatalf("asked again: %v", err)
			}
		}
	})
}
