package adopt

import (
	"fmt"
	"go/ast"
	"go/types"
	"slices"
	"strconv"
	"strings"
)

// body is what is read of one controller.
type body struct {
	*scope
	c    *Controller
	of   kind // that of For
	used *usage
}

// readController adds the controller that a chain of calls builds.
func (s *scope) readController(fn *ast.FuncDecl, root *ast.CallExpr, links []link) {
	b := &body{scope: s, c: &Controller{At: s.at(root)}, used: &usage{reader: s.reader}}
	for _, l := range links {
		if l.name == "For" && len(l.call.Args) > 0 {
			b.of = s.kindOf(l.call.Args[0], fn)
			b.c.Name = strings.ToLower(b.of.name)
		}
	}
	if b.handedOn(links) {
		s.plan.Notes = append(s.plan.Notes, fmt.Sprintf("%s: the builder that is made here is completed elsewhere: controllers that begin with a function NewControllerManagedBy are above, others are not", s.at(root)))
		return
	}
	if pkg := s.wrapper(root); pkg != "" {
		b.c.add("options", Item{At: []string{s.at(root)}, Code: s.code(root.Fun), Flyball: "controller.New(mgr, name, reconcile, sources...)",
			Note: "a builder of " + pkg + ": what that adds of its own was not read"})
	}
	var reconciler ast.Expr
	for _, l := range links {
		at := l.call.Fun.(*ast.SelectorExpr).Sel
		args := l.call.Args
		switch {
		case len(args) == 0:
		case l.name == "Named":
			b.c.Name = s.text(args[0])
		case l.name == "For" || l.name == "Owns":
			b.source(fn, at, l)
		case l.name == "Watches" || l.name == "WatchesMetadata":
			b.watch(fn, at, l)
		case l.name == "WatchesRawSource":
			b.rawSource(at, args[0])
		case l.name == "WithEventFilter":
			b.predicate(at, args[0], "as a last argument of each source")
		case l.name == "WithOptions":
			b.options(at, args[0])
		case l.name == "WithLogConstructor":
			b.c.add("options", Item{At: []string{s.at(at)}, Code: l.name, Flyball: controllerOptions["LogConstructor"].flyball})
		case l.name == "Complete" || l.name == "Build":
			reconciler = args[len(args)-1] // after a context, where a program wraps the builder
		}
	}
	b.reconciler(fn, reconciler)
	b.c.Permissions = b.used.compare(b.files())
	s.plan.Controllers = append(s.plan.Controllers, b.c)
}

// handedOn reports whether a builder gets no source and is not built in its function.
func (b *body) handedOn(links []link) bool {
	return !slices.ContainsFunc(links, func(l link) bool {
		return slices.Contains([]string{"For", "Owns", "Watches", "WatchesMetadata", "WatchesRawSource", "Complete", "Build"}, l.name)
	})
}

// source adds For and Owns.
func (b *body) source(fn *ast.FuncDecl, at ast.Node, l link) {
	k := b.kindOf(l.call.Args[0], fn)
	b.used.watches(k)
	it := Item{At: []string{b.at(at)}, Code: l.name + "(" + b.code(l.call.Args[0]) + ")", Flyball: sourceOf(l.name, k, "")}
	for _, o := range l.call.Args[1:] {
		switch b.function(o) {
		case builderPath + ".MatchEveryOwner":
			it.Flyball = fmt.Sprintf("controller.Watches[%s](handler.Owner[%s](handler.Any))", k, b.of)
			it.Note = "MatchEveryOwner: each owner, not only the controlling one"
		case builderPath + ".OnlyMetadata":
			it.Note = "OnlyMetadata: not needed, since objects stay packed and a header is read without decoding"
		}
		b.sourceOption(at, o, fmt.Sprintf("as an argument of controller.%s", l.name))
	}
	b.c.add("watches", it)
}

// sourceOf returns the call of a source of package controller.
func sourceOf(name string, k kind, handler string) string {
	args := handler
	if k.atRunTime() {
		name += "Kind"
		args = strings.TrimSuffix("gvk, "+handler, ", ")
	}
	return fmt.Sprintf("controller.%s[%s](%s)", name, k, args)
}

// sourceOption adds the predicates among the options of a source.
func (b *body) sourceOption(at ast.Node, o ast.Expr, where string) {
	if call, ok := o.(*ast.CallExpr); ok && b.function(call.Fun) == builderPath+".WithPredicates" {
		for _, p := range call.Args {
			b.predicate(at, p, where)
		}
	} else if b.isPredicate(o) { // of a program's own builder
		b.predicate(at, o, where)
	}
}

// isPredicate reports whether an expression is a predicate, by its type.
func (b *body) isPredicate(e ast.Expr) bool {
	n, ok := types.Unalias(b.pkg.TypesInfo.TypeOf(e)).(*types.Named)
	return ok && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == predicatePath
}

// watch adds Watches and WatchesMetadata.
func (b *body) watch(fn *ast.FuncDecl, at ast.Node, l link) { b.watchArgs(fn, at, l.name, l.call.Args) }

// watchArgs adds a watch of an object with a handler and options.
func (b *body) watchArgs(fn *ast.FuncDecl, at ast.Node, name string, args []ast.Expr) {
	k := b.kindOf(args[0], fn)
	b.used.watches(k)
	it := Item{At: []string{b.at(at)}, Code: name + "(" + b.code(args[0]) + ")", Flyball: sourceOf("Watches", k, "handler")}
	if len(args) > 1 {
		it.Code = fmt.Sprintf("%s(%s, %s)", name, b.code(args[0]), b.code(args[1]))
		h, note := b.handler(fn, args[1], name == "WatchesMetadata")
		it.Flyball, it.Note = sourceOf("Watches", k, h), note
	}
	b.c.add("watches", it)
	for i, o := range args {
		if i > 1 {
			b.sourceOption(at, o, "as an argument of controller.Watches")
		}
	}
}

// handler returns what stands in place of an event handler.
func (b *body) handler(fn *ast.FuncDecl, e ast.Expr, metadata bool) (flyball, note string) {
	switch x := ast.Unparen(e).(type) {
	case *ast.UnaryExpr:
		return b.handler(fn, x.X, metadata)
	case *ast.CompositeLit:
		switch b.function(x.Type) {
		case handlerPath + ".EnqueueRequestForObject", handlerPath + ".TypedEnqueueRequestForObject":
			return "handler.Self()", ""
		case handlerPath + ".Funcs", handlerPath + ".TypedFuncs":
			return "handler.Func(requests)", "one function of the change, with its old and new state"
		}
	case *ast.CallExpr:
		switch b.function(x.Fun) {
		case handlerPath + ".EnqueueRequestsFromMapFunc", handlerPath + ".TypedEnqueueRequestsFromMapFunc":
			if len(x.Args) == 0 {
				break
			}
			of := "handler.Map"
			note = "the function takes the typed object and also returns an error; it is asked about the old state of a change, too"
			if metadata {
				of, note = "handler.MapHeader", "the function takes a header, which costs no decoding"
			}
			if _, literal := x.Args[0].(*ast.FuncLit); literal {
				return of + "(func(...) ([]reconcile.Request, error) {...})", note
			}
			return of + "(" + b.code(x.Args[0]) + ")", note
		case handlerPath + ".EnqueueRequestForOwner", handlerPath + ".TypedEnqueueRequestForOwner":
			if len(x.Args) < 3 {
				break
			}
			which := "handler.Any"
			for _, o := range x.Args[3:] {
				if call, ok := o.(*ast.CallExpr); ok && b.function(call.Fun) == handlerPath+".OnlyControllerOwner" {
					which = "handler.Controlling"
				}
			}
			return fmt.Sprintf("handler.Owner[%s](%s)", b.kindOf(x.Args[2], fn), which), ""
		}
	}
	return "handler.Func(requests)", "a handler of its own: a function of the change that returns requests"
}

// rawSource adds WatchesRawSource.
func (b *body) rawSource(at ast.Node, e ast.Expr) {
	it := Item{At: []string{b.at(at)}, Code: "WatchesRawSource(" + b.code(e) + ")", Flyball: "controller.Requests(func(ctx, add) error {...})", Note: "a function that adds requests until its context ends"}
	if call, ok := e.(*ast.CallExpr); ok {
		switch name := b.function(call.Fun); name {
		case sourcePath + ".Channel", sourcePath + ".TypedChannel":
			it.Flyball, it.Note = "controller.Channel(ch, handler)", "the channel has objects"
		case sourcePath + ".Kind", sourcePath + ".TypedKind":
			it.Flyball, it.Note = "controller.Watches[T](handler)", "of this manager's cluster"
		}
	}
	b.c.add("watches", it)
}

// predicate adds a predicate.
func (b *body) predicate(at ast.Node, e ast.Expr, where string) {
	name := e
	switch x := ast.Unparen(e).(type) {
	case *ast.CompositeLit:
		name = x.Type
	case *ast.CallExpr:
		name = x.Fun
	}
	it := Item{At: []string{b.at(at)}, Code: b.code(e), Flyball: "predicate.New[T](predicate.Funcs[*T]{...})", Note: where}
	if known, ok := strings.CutPrefix(b.function(name), predicatePath+"."); ok && predicates[known] != "" {
		it.Flyball = predicates[known]
	}
	b.c.add("predicates", it)
}

// options adds the options of a controller.
func (b *body) options(at ast.Node, e ast.Expr) {
	lit, ok := ast.Unparen(e).(*ast.CompositeLit)
	if !ok {
		b.c.add("options", Item{At: []string{b.at(at)}, Code: b.code(e), Flyball: "controller.NewWith(mgr, name, reconcile, controller.Options{...}, sources...)"})
		return
	}
	for _, x := range lit.Elts {
		kv, ok := x.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		to := controllerOptions[types.ExprString(kv.Key)]
		if to.flyball == "" {
			to.flyball = "nothing: see the fields of controller.Options"
		}
		b.c.add("options", Item{At: []string{b.at(kv)}, Code: b.code(kv.Key) + ": " + b.code(kv.Value), Flyball: to.flyball, Note: to.note})
	}
}

// reconciler reads the methods of the reconciler, and the functions of its package that they call.
func (b *body) reconciler(fn *ast.FuncDecl, e ast.Expr) {
	name := receiver(fn)
	if e != nil {
		if k := b.kindOf(e, fn); k.known() && k.path == b.pkg.PkgPath {
			name = k.name
		}
	}
	b.c.Reconciler = name
	declared, queue := map[string]*ast.FuncDecl{}, []*ast.FuncDecl(nil)
	in := map[*ast.FuncDecl]*ast.File{}
	for _, file := range b.pkg.Syntax {
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Body == nil {
				continue
			}
			in[f] = file
			if f.Recv == nil {
				declared[f.Name.Name] = f
			} else if name != "" && receiver(f) == name {
				queue = append(queue, f)
			}
		}
	}
	seen := map[*ast.FuncDecl]bool{}
	for len(queue) > 0 {
		f := queue[0]
		queue = queue[1:]
		if seen[f] {
			continue
		}
		seen[f] = true
		inFile := &body{scope: b.scope.reader.scope(b.pkg, in[f]), c: b.c, of: b.of, used: b.used}
		ast.Inspect(f.Body, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				inFile.call(f, n)
				if x, ok := n.Fun.(*ast.Ident); ok && declared[x.Name] != nil {
					queue = append(queue, declared[x.Name])
				}
			case *ast.CompositeLit:
				inFile.result(n)
			}
			return true
		})
	}
}

// receiver returns the name of the type that a method is of, or "".
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil || len(f.Recv.List) == 0 {
		return ""
	}
	t := f.Recv.List[0].Type
	if p, ok := t.(*ast.StarExpr); ok {
		t = p.X
	}
	if x, ok := t.(*ast.IndexExpr); ok {
		t = x.X
	}
	if x, ok := t.(*ast.Ident); ok {
		return x.Name
	}
	return ""
}

// result adds results that ask for another reconcile.
func (b *body) result(lit *ast.CompositeLit) {
	if name := b.function(lit.Type); name != ctrlPath+".Result" && name != reconcilePath+".Result" {
		return
	}
	if v := field(lit, "RequeueAfter"); v != nil {
		b.c.add("requeues", Item{At: []string{b.at(lit)}, Code: "Result{RequeueAfter: ...}", Flyball: "reconcile.Result{RequeueAfter: ...}"})
	}
	if v := field(lit, "Requeue"); v != nil {
		b.c.add("requeues", Item{At: []string{b.at(lit)}, Code: "Result{Requeue: ...}", Flyball: "reconcile.Result{Requeue: true}", Note: "with growing delay; not deprecated here"})
	}
}

// call adds what a call in the reconciler is.
func (b *body) call(fn *ast.FuncDecl, call *ast.CallExpr) {
	if name := b.function(call.Fun); name != "" {
		k, ok := functions[name]
		if !ok || name == sourcePath+".Channel" {
			return
		}
		b.c.add(k.aspect, Item{At: []string{b.at(call)}, Code: b.code(call.Fun), Flyball: k.flyball, Note: k.note})
		switch {
		case strings.HasPrefix(name, utilPath+".CreateOr") && len(call.Args) > 2:
			made := b.kindOf(call.Args[2], fn)
			verb := "update"
			if strings.HasSuffix(name, "Patch") {
				verb = "patch"
			}
			b.used.uses(made, "", "get", "create", verb)
			b.used.then(made, "", "create", "patch")
		case k.aspect == "finalizers":
			b.used.then(b.of, "", "patch")
		case name == metaPath+".SetStatusCondition":
			b.used.then(b.of, "status", "patch")
		}
		return
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return
	}
	method := sel.Sel.Name
	if inner, ok := sel.X.(*ast.CallExpr); ok && len(call.Args) > 1 {
		if sub := b.subresource(inner); sub != "" {
			b.status(fn, call, inner, sub, method)
			return
		}
	}
	switch {
	case b.isMethod(sel, recordPaths...) || b.named(sel, "ecorder"):
		if strings.HasSuffix(method, "Event") || strings.HasSuffix(method, "Eventf") {
			b.c.add("events", Item{At: []string{b.at(call)}, Code: b.code(call.Fun), Flyball: `mgr.Events().Event(obj, event.Normal, "Reason", "Action", "note %s", x)`, Note: "never blocks; like events are counted together"})
			b.used.events()
		}
	case method == "GetEventRecorderFor" || method == "GetEventRecorder":
		b.c.add("events", Item{At: []string{b.at(call)}, Code: b.code(call.Fun), Flyball: "mgr.Events()"})
	case method == "IndexField" && len(call.Args) == 4:
		k := b.kindOf(call.Args[1], fn)
		b.c.add("reads", Item{At: []string{b.at(call)}, Code: "IndexField(" + b.code(call.Args[1]) + ")", Flyball: fmt.Sprintf("cache.IndexField[%s](mgr.Cache(), name, func(obj *%s) []string {...})", k, k)})
	case requests[method].verb != "" && len(call.Args) > 1 && (b.isMethod(sel, clientPath) || b.named(sel, "lient") || b.ofReceiver(fn, sel)):
		b.request(fn, call, method)
	}
}

// subresource returns which subresource a call such as r.Status() is about, or "".
func (b *body) subresource(call *ast.CallExpr) string {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	switch {
	case !ok:
	case sel.Sel.Name == "Status" && len(call.Args) == 0:
		return "status"
	case sel.Sel.Name == "SubResource" && len(call.Args) == 1:
		if lit, ok := call.Args[0].(*ast.BasicLit); ok {
			sub, _ := strconv.Unquote(lit.Value)
			return sub
		}
	}
	return ""
}

// status adds a write of a subresource.
func (b *body) status(fn *ast.FuncDecl, call, inner *ast.CallExpr, sub, method string) {
	verb := map[string]string{"Update": "update", "Patch": "patch", "Apply": "patch", "Create": "create", "Get": "get"}[method]
	if verb == "" {
		return
	}
	k := b.kindOf(call.Args[1], fn)
	b.used.uses(k, sub, verb)
	it := Item{At: []string{b.at(call)}, Code: b.code(call.Fun), Flyball: statusRequests[method]}
	if sub != "status" {
		it.Flyball = map[string]string{"Update": "client.UpdateSub", "Create": "client.CreateSub", "Get": "client.GetSub", "Patch": "client.Patch", "Apply": "client.Apply"}[method] +
			fmt.Sprintf(`(ctx, c, obj, %q, ...)`, sub)
		b.c.add("writes", it)
		return
	}
	it.Note = "a status that did not change is not sent by condition.Patch and client.PatchStatusIfChanged"
	b.used.then(k, sub, "patch")
	b.c.add("status", it)
}

// request adds a request of a client.
func (b *body) request(fn *ast.FuncDecl, call *ast.CallExpr, method string) {
	r := requests[method]
	object := call.Args[1]
	if method == "Get" && len(call.Args) > 2 {
		object = call.Args[2]
	}
	k := b.kindOf(object, fn)
	verbs := []string{r.verb}
	if r.aspect == "reads" { // the cache lists and watches what is read
		verbs = []string{"get", "list", "watch"}
	}
	b.used.uses(k, "", verbs...)
	it := Item{At: []string{b.at(call)}, Code: fmt.Sprintf("%s of %s", method, k), Flyball: r.flyball}
	if strings.Contains(it.Flyball, "%s") {
		it.Flyball = fmt.Sprintf(it.Flyball, k)
		if k.atRunTime() {
			it.Note = "the options name the kind, by Kind"
		}
	}
	b.c.add(r.aspect, it)
}

// isMethod reports whether a selector is a method of one of these packages, by its type.
func (b *body) isMethod(sel *ast.SelectorExpr, pkgs ...string) bool {
	s := b.pkg.TypesInfo.Selections[sel]
	return s != nil && s.Obj().Pkg() != nil && slices.Contains(pkgs, s.Obj().Pkg().Path())
}

// named reports whether a selector without a type is of a field or variable with this in its name.
func (b *body) named(sel *ast.SelectorExpr, part string) bool {
	if b.pkg.TypesInfo.Selections[sel] != nil {
		return false
	}
	switch x := sel.X.(type) {
	case *ast.Ident:
		return strings.Contains(x.Name, part)
	case *ast.SelectorExpr:
		return strings.Contains(x.Sel.Name, part)
	}
	return false
}

// ofReceiver reports whether a selector without a type is of the receiver itself, as with an embedded
// client.
func (b *body) ofReceiver(fn *ast.FuncDecl, sel *ast.SelectorExpr) bool {
	x, ok := sel.X.(*ast.Ident)
	return ok && b.pkg.TypesInfo.Selections[sel] == nil && fn.Recv != nil && len(fn.Recv.List[0].Names) > 0 && fn.Recv.List[0].Names[0].Name == x.Name
}

// files are those of the controller: the file where it is built.
func (b *body) files() []string {
	name, _, _ := strings.Cut(b.c.At, ":")
	return []string{name}
}
