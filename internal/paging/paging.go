// Package paging detects a list with pages that never end: it repeats tokens or pages, or sends
// empty pages only.
package paging

import (
	"errors"
	"hash/maphash"
)

// ErrEndless says that the pages of a list do not end: a continue token or a page repeated, or too
// many pages in a row were empty.
var ErrEndless = errors.New("the pages of the list do not end")

// MaxEmpty is the number of empty pages in a row that a list may have.
const MaxEmpty = 16

// Guard checks the pages of one list. Call Item for each object and Next at the end of each page.
// The zero value is a list before its first page. It is for one goroutine, and holds a few bytes a
// page.
type Guard struct {
	seen  map[uint64]struct{} // tokens, and the first keys of pages
	first uint64              // hash of the first key of this page; 0: unknown
	items int                 // items of this page
	empty int                 // pages in a row without an item
}

// Separate seeds: a token may have the same text as a key.
var tokens, keys = maphash.MakeSeed(), maphash.MakeSeed()

// Item counts the next object of the page. key identifies the object; its zero value means unknown.
func Item[K comparable](g *Guard, key K) {
	if g.items == 0 {
		var none K
		if g.first = 0; key != none {
			g.first = maphash.Comparable(keys, key)
		}
	}
	g.items++
}

// Next ends a page that gave a token for the next one. It returns ErrEndless if the token repeats,
// if an earlier page began with the same object, or after more than MaxEmpty empty pages in a row.
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
