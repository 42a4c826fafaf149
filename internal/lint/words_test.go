package lint

import (
	"fmt"
	"go/ast"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// maxWords is the most words in a sentence of a doc comment; twenty are usual.
const maxWords = 30

// TestSentencesAreShort checks the doc comments of exported declarations and of packages.
func TestSentencesAreShort(t *testing.T) {
	for _, f := range files(t) {
		if f.test || strings.HasPrefix(filepath.Base(f.path), "zz_generated") {
			continue
		}
		src, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(f.path)))
		if err != nil {
			t.Fatal(err)
		}
		found, err := tooLong(f.path, src)
		if err != nil {
			t.Fatal(err)
		}
		for _, problem := range found {
			t.Error(problem)
		}
	}
}

// tooLong reports the long sentences of a file as "file:line: N words, at most 30: sentence". The
// line is that of the comment.
func tooLong(name string, src []byte) (found []string, err error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, doc := range exportedDocs(f) {
		for _, s := range sentences(doc.Text()) {
			if s.words > maxWords {
				found = append(found, fmt.Sprintf("%s:%d: %d words, at most %d: %s",
					name, fset.Position(doc.Pos()).Line, s.words, maxWords, s.text))
			}
		}
	}
	return found, nil
}

// exportedDocs returns the package comment and the comments of exported declarations: functions and
// methods, types with their fields and methods, constants and variables.
func exportedDocs(f *ast.File) (docs []*ast.CommentGroup) {
	add := func(groups ...*ast.CommentGroup) {
		for _, g := range groups {
			if g != nil {
				docs = append(docs, g)
			}
		}
	}
	add(f.Doc)
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() && (d.Recv == nil || exportedType(d.Recv.List[0].Type)) {
				add(d.Doc)
			}
		case *ast.GenDecl:
			exported := false
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					if !s.Name.IsExported() {
						continue
					}
					exported = true
					add(s.Doc, s.Comment)
					add(memberDocs(s.Type)...)
				case *ast.ValueSpec:
					if slices.ContainsFunc(s.Names, (*ast.Ident).IsExported) {
						exported = true
						add(s.Doc, s.Comment)
					}
				}
			}
			if exported {
				add(d.Doc)
			}
		}
	}
	return docs
}

// exportedType reports whether the type of a receiver is exported.
func exportedType(x ast.Expr) bool {
	for {
		switch t := x.(type) {
		case *ast.StarExpr:
			x = t.X
		case *ast.IndexExpr:
			x = t.X
		case *ast.IndexListExpr:
			x = t.X
		case *ast.Ident:
			return t.IsExported()
		default:
			return false
		}
	}
}

// memberDocs returns the comments of the exported members of a struct or interface.
func memberDocs(x ast.Expr) (docs []*ast.CommentGroup) {
	var members *ast.FieldList
	switch t := x.(type) {
	case *ast.StructType:
		members = t.Fields
	case *ast.InterfaceType:
		members = t.Methods
	default:
		return nil
	}
	for _, m := range members.List {
		if len(m.Names) == 0 || slices.ContainsFunc(m.Names, (*ast.Ident).IsExported) {
			docs = append(docs, m.Doc, m.Comment)
			docs = append(docs, memberDocs(m.Type)...)
		}
	}
	return docs
}

// sentence is one sentence of a doc comment.
type sentence struct {
	text  string
	words int
}

// sentences splits the text of a doc comment. A sentence ends with its paragraph or list item, or
// with a full stop, question mark or exclamation mark before a space. Headings, code blocks and link
// targets are not part of any sentence.
func sentences(text string) (out []sentence) {
	var p comment.Parser
	var walk func(blocks []comment.Block)
	walk = func(blocks []comment.Block) {
		for _, b := range blocks {
			switch b := b.(type) {
			case *comment.Paragraph:
				out = append(out, split(plain(b.Text))...)
			case *comment.List:
				for _, item := range b.Items {
					walk(item.Content)
				}
			}
		}
	}
	walk(p.Parse(text).Content)
	return out
}

// plain returns the text of a paragraph without URLs. The text of a link stays.
func plain(all []comment.Text) string {
	var b strings.Builder
	for _, t := range all {
		switch t := t.(type) {
		case comment.Plain:
			b.WriteString(string(t))
		case comment.Italic:
			b.WriteString(string(t))
		case *comment.Link:
			if !t.Auto {
				b.WriteString(plain(t.Text))
			}
		case *comment.DocLink:
			b.WriteString(plain(t.Text))
		}
	}
	return b.String()
}

// split splits a paragraph into sentences. A word has a letter or a digit in it.
func split(paragraph string) (out []sentence) {
	var words []string
	n := 0
	end := func() {
		if n > 0 {
			out = append(out, sentence{text: strings.Join(words, " "), words: n})
		}
		words, n = nil, 0
	}
	for _, w := range strings.Fields(paragraph) {
		words = append(words, w)
		if strings.ContainsFunc(w, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
			n++
		}
		if endsSentence(w) {
			end()
		}
	}
	end()
	return out
}

// abbreviations end with a full stop that does not end a sentence.
var abbreviations = []string{"e.g.", "i.e.", "cf.", "vs.", "approx."}

func endsSentence(word string) bool {
	word = strings.Trim(word, "\"'“”‘’()[]")
	return strings.HasSuffix(word, "?") || strings.HasSuffix(word, "!") ||
		strings.HasSuffix(word, ".") && !slices.Contains(abbreviations, strings.ToLower(word))
}

func TestSentencesAreSplit(t *testing.T) {
	for text, want := range map[string][]sentence{
		"A first sentence. A second one? yes.":                                           {{"A first sentence.", 3}, {"A second one?", 3}, {"yes.", 1}},
		"Half of it, e.g. 1.5 of 3, is free (i.e. a lot).":                               {{"Half of it, e.g. 1.5 of 3, is free (i.e. a lot).", 12}},
		"See a.b.C and version v1.2. ctx ends":                                           {{"See a.b.C and version v1.2.", 5}, {"ctx ends", 2}},
		"It returns (see [Foo.Bar].) Then nothing.":                                      {{"It returns (see [Foo.Bar].)", 4}, {"Then nothing.", 2}},
		"A dash — or an arrow → is no word.":                                             {{"A dash — or an arrow → is no word.", 8}},
		"One of these:\n\n  - a first item\n  - a second\n\nEnd":                         {{"One of these:", 3}, {"a first item", 3}, {"a second", 2}, {"End", 1}},
		"Call it:\n\n\tnot a word\n\n# A heading\n\nText\nonly":                          {{"Call it:", 2}, {"Text only", 2}},
		"As in [the RFC] at https://example.com/a\n\n[the RFC]: https://example.com/rfc": {{"As in the RFC at", 5}},
	} {
		if got := sentences(text); !slices.Equal(got, want) {
			t.Errorf("%q:\ngot  %v\nwant %v", text, got, want)
		}
	}
}

func TestLongSentencesAreFound(t *testing.T) {
	long := strings.TrimSuffix(strings.Repeat("word ", maxWords+1), " ") + "."
	src := "// Package p. Short.\npackage p\n\n// T is short.\ntype T struct {\n\t// " + long +
		"\n\tField int\n\t// " + long + "\n\tfield int\n}\n\n// " + long + "\nfunc unexported() {}\n\n// " + long + "\nfunc (*T) Method() {}\n"
	want := []string{
		fmt.Sprintf("p.go:6: 31 words, at most 30: %s", long),
		fmt.Sprintf("p.go:15: 31 words, at most 30: %s", long),
	}
	if got, err := tooLong("p.go", []byte(src)); err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v\nwant %q", got, err, want)
	}
}
