package paging

import (
	"fmt"
	"testing"
)

func TestGuardDetectsEndlessPages(t *testing.T) {
	for name, page := range map[string]struct {
		of  func(n int) (token, first string)
		end int // the last page
	}{
		"many pages, some empty": {func(n int) (string, string) {
			if n%(MaxEmpty+1) != 0 {
				return fmt.Sprint(n), ""
			}
			return fmt.Sprint(n), fmt.Sprint("item", n)
		}, 100_000},
		"one token":       {func(n int) (string, string) { return "t", fmt.Sprint(n) }, 1},
		"a cycle":         {func(n int) (string, string) { return fmt.Sprint(n % 3), fmt.Sprint(n) }, 3},
		"empty for ever":  {func(n int) (string, string) { return fmt.Sprint(n), "" }, MaxEmpty},
		"the first again": {func(n int) (string, string) { return fmt.Sprint(n), "a" }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			var g Guard
			for n := range 100_000 {
				token, first := page.of(n)
				if first != "" {
					Item(&g, first)
					Item(&g, "another")
				}
				if err := g.Next(token); (err == nil) != (n < page.end) {
					t.Fatalf("page %d: %v", n, err)
				} else if err != nil {
					return
				}
			}
		})
	}
}

// Objects without a key are counted, and not compared.
func TestGuardDoesNotCompareMissingKeys(t *testing.T) {
	var g Guard
	for n := range 10 * MaxEmpty {
		Item(&g, "")
		if err := g.Next(fmt.Sprint(n)); err != nil {
			t.Fatalf("page %d: %v", n, err)
		}
	}
}
