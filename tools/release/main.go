// Command release makes a release of all modules: one version, one commit, a tag for each of them. Without -tag it changes
// nothing: it makes the release in a copy, and the files of a module proxy if -proxy names a folder.
//
// In the tree, modules require each other as v0.0.0, which only the workspace knows. In the commit of a release they
// require its version, and go.sum has the hashes of what it consists of. That commit is beside the branch: the branch
// itself gets a commit with the changelog only.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/mod/semver"
)

func main() {
	version := flag.String("version", "", "the `VERSION`, such as v0.1.0 (required)")
	proxy := flag.String("proxy", "", "write the files of a module proxy into `DIR`")
	tag := flag.Bool("tag", false, "make the commits and the tags in this repository; without it, nothing changes")
	worktree := flag.Bool("worktree", false, "release what the working tree has, committed or not; not with -tag")
	flag.Parse()
	if flag.NArg() > 0 || *tag && *worktree {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(*version, *proxy, *tag, *worktree); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(version, proxy string, tag, worktree bool) error {
	if !semver.IsValid(version) || semver.Canonical(version) != version || semver.Build(version) != "" {
		return fmt.Errorf("-version %q: a version is vMAJOR.MINOR.PATCH", version)
	}
	root, err := git(".", "rev-parse", "--show-toplevel")
	if err != nil {
		return err
	}
	root = strings.TrimSpace(root)
	if err := check(root, version, worktree); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	c, err := copyOf(root, dir, worktree)
	if err != nil {
		return err
	}
	notes, err := c.changelog(version, time.Now())
	if err != nil {
		return err
	}
	branch, err := c.commit("CHANGELOG: " + version)
	if err != nil {
		return err
	}
	if err := c.require(version); err != nil {
		return err
	}
	release, err := c.commit(version)
	if err != nil {
		return err
	}
	sums, err := c.sum(version)
	if err != nil {
		return err
	}
	if release, err = c.amend(); err != nil {
		return err
	}
	if err := c.verify(version, sums); err != nil {
		return err
	}
	if proxy != "" {
		if proxy, err = filepath.Abs(proxy); err != nil {
			return err
		}
		if err := c.proxy(proxy, version); err != nil {
			return err
		}
		fmt.Printf("the module proxy is in %s: GOPROXY=file://%s,$(go env GOPROXY) GONOSUMDB=%s\n", proxy, proxy, corePath)
	}
	fmt.Printf("notes of %s:\n\n%s\n", version, notes)
	for _, m := range modules {
		fmt.Printf("tag %-28s %s\n", m.tag(version), sums[m])
	}
	if !tag {
		fmt.Println("nothing has changed: -tag makes the commits and tags")
		return nil
	}
	if _, err := git(root, "fetch", "--quiet", c.dir, release); err != nil {
		return err
	}
	if _, err := git(root, "merge", "--quiet", "--ff-only", branch); err != nil {
		return err
	}
	push := []string{"git push origin HEAD"}
	for _, m := range modules {
		if _, err := git(root, "tag", m.tag(version), release); err != nil {
			return err
		}
		push = append(push, m.tag(version))
	}
	fmt.Println("to publish it:", strings.Join(push, " "))
	return nil
}
