// Package paging tells the pages of a list that come to an end from pages that go round in circles.
package paging

import (
	"errors"
	"hash/maphash"
)

// ErrEndless says that the pages of a list do not come to an end: a continue token or a page came twice,
// or page after page was empty.
var ErrEndless = errors.New("the pages of the list do not end")

// MaxEmpty is how many empty pages in a row a list may have.
const MaxEmpty = 16

// Guard looks at the pages of one list. The zero value is a list before its first page. It is for one
// goroutine, and holds a few bytes for each page.
type Guard struct {
	seen  map[uint64]struct{} // tokens, and the first keys of pages
	first uint64              // the hash of the first key of this page; 0: not known
	items int                 // of this page
	empty int                 // pages in a row without an item
}

// A token may read as a key does.
var tokens, keys = maphash.MakeSeed(), maphash.MakeSeed()

// Item is the next object of the page. key tells objects apart; its zero value says nothing.
func Item[K comparable](g *Guard, key K) {
	if g.items == 0 {
		var none K
		if g.first = 0; key != none {
			g.first = maphash.Comparable(keys, key)
		}
	}
	g.items++
}

// Next ends a page, which gave the token of another one. It is ErrEndless if that token came before, if
// a page before began with the same object, or after more than MaxEmpty empty pages in a row.
func (g *Guard) Next(token string) error {
	if g.seen == nil {
		g.seen = map[uint64]struct{}{}
	}
	sound := g.add(maphash.String(tokens, token))
	if g.items > 0 {
		g.empty = -1
		if g.first != 0 {
			sound = g.add(g.first) && sound
		}
	}
	g.empty++
	g.items = 0
	if !sound || g.empty > MaxEmpty {
		return ErrEndless
	}
	return nil
}

// add reports whether h is new.
func (g *Guard) add(h uint64) bool {
	n := len(g.seen)
	g.seen[h] = struct{}{}
	return len(g.seen) > n
}
