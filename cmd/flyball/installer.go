package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/flyball-io/flyball/cmd/flyball/internal/chart"
	"github.com/flyball-io/flyball/cmd/flyball/internal/scaffold"
	"github.com/flyball-io/flyball/internal/manifest"
)

// installerFlags are the flags of "flyball build-installer".
type installerFlags struct {
	dir, image, output, version string
	helm                        bool
}

// semantic matches the versions that Helm takes.
var semantic = regexp.MustCompile(`^v?(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)

func newBuildInstaller() *cobra.Command {
	var f installerFlags
	cmd := &cobra.Command{
		Use:   "build-installer",
		Short: "Make one YAML file, or a Helm chart, of all that a project deploys",
		Long: `Write all that "flyball deploy" applies to one file, for those who install the
program without its source: "kubectl apply --server-side -f FILE". A file that
exists is replaced if its first line says that it is generated.

With --helm it is a Helm chart in a folder, with the same objects. Its values
are the image, replicas, further arguments, resources and where Pods run. Names
are those of config/default; the namespace is that of the release. A file of the
chart whose first line says that it is generated is written anew or removed at
each run. All others are yours.`,
		Example: `  flyball build-installer --image registry.example/shop:v1
  flyball build-installer --image registry.example/shop:v1 --helm --version 1.0.0
  helm install shop dist/chart --namespace shop-system --create-namespace`,
		Args: func(cmd *cobra.Command, args []string) error {
			if err := cobra.NoArgs(cmd, args); err != nil {
				return err
			}
			if !f.helm && cmd.Flags().Changed("version") {
				return errors.New("--version is for --helm")
			}
			if !semantic.MatchString(f.version) {
				return fmt.Errorf("--version %q: must be a semantic version, such as 1.0.0", f.version)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	fs := cmd.Flags()
	fs.StringVar(&f.dir, "dir", ".", "`DIR` of the project, or a folder in it")
	fs.StringVar(&f.image, "image", "", "`IMAGE` of the program (default: that of config/manager)")
	fs.StringVar(&f.output, "output", "", "`FILE`, or folder of the chart (default: dist/install.yaml or dist/chart in the project)")
	fs.BoolVar(&f.helm, "helm", false, "make a Helm chart")
	fs.StringVar(&f.version, "version", "0.1.0", "`VERSION` of the chart")
	return cmd
}

func (f *installerFlags) run(cmd *cobra.Command) error {
	dir, p, err := scaffold.Open(f.dir)
	if err != nil {
		return err
	}
	objs, err := rendered(dir, f.image, everything)
	if err != nil {
		return err
	}
	to, files := f.output, map[string][]byte{}
	if f.helm {
		if to == "" {
			to = filepath.Join(dir, "dist", "chart")
		}
		if files, err = chart.Files(objs, chart.Options{Name: p.Name, Version: strings.TrimPrefix(f.version, "v"), Namespace: namespaceOf(p, objs), Container: managerContainer}); err != nil {
			return err
		}
	} else {
		if to == "" {
			to = filepath.Join(dir, "dist", "install.yaml")
		}
		if to, err = ours(to, generatedMark); err != nil {
			return err
		}
		text := bytes.NewBufferString(chart.Mark)
		if err := manifest.Write(text, objs); err != nil {
			return err
		}
		files[filepath.Base(to)], to = text.Bytes(), filepath.Dir(to)
	}
	return f.write(cmd, to, files)
}

// namespaceOf returns the namespace of the program.
func namespaceOf(p *scaffold.Project, objs []manifest.Object) string {
	for _, o := range objs {
		if o.GetKind() == "Deployment" && o.GetNamespace() != "" {
			return o.GetNamespace()
		}
	}
	return p.Name + "-system"
}

// write writes files into a folder. In the folder of a chart it keeps the files of users, and removes
// stale generated files.
func (f *installerFlags) write(cmd *cobra.Command, to string, files map[string][]byte) error {
	var stale []string
	if f.helm {
		kept, old, err := chartFolder(to, files)
		if err != nil {
			return err
		}
		for _, name := range kept {
			delete(files, name)
			fmt.Fprintf(cmd.OutOrStdout(), "note: %s is yours, as its first line says it is not flyball's any more: it stays as it is\n", filepath.Join(to, filepath.FromSlash(name)))
		}
		stale = old
	}
	names := slices.Sorted(maps.Keys(files))
	temporary := map[string]string{}
	defer func() {
		for _, t := range temporary {
			_ = os.Remove(t) // renamed files are no longer there
		}
	}()
	for _, name := range names {
		file := filepath.Join(to, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			return err
		}
		temporary[name] = filepath.Join(filepath.Dir(file), fmt.Sprintf(".flyball-%d-%s", os.Getpid(), filepath.Base(file)))
		if err := os.WriteFile(temporary[name], files[name], 0o666); err != nil {
			return err
		}
	}
	for _, name := range names {
		file := filepath.Join(to, filepath.FromSlash(name))
		if err := os.Rename(temporary[name], file); err != nil {
			return err
		}
		fmt.Fprintln(cmd.OutOrStdout(), "wrote", file)
	}
	for _, name := range stale {
		if err := os.Remove(filepath.Join(to, filepath.FromSlash(name))); err != nil {
			return err
		}
		fmt.Fprintln(cmd.OutOrStdout(), "removed", filepath.Join(to, filepath.FromSlash(name)))
	}
	return nil
}

// chartFolder compares the folder of a chart with the files to write. kept are files that the user
// has taken over. stale are generated files that the chart does not have any more.
func chartFolder(dir string, files map[string][]byte) (kept, stale []string, err error) {
	err = filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && file == dir {
			return fs.SkipAll
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		rel, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		name := filepath.ToSlash(rel)
		_, made := files[name]
		switch ours := bytes.HasPrefix(data, []byte(chart.Mark)); {
		case made && !ours:
			kept = append(kept, name)
		case !made && ours:
			stale = append(stale, name)
		}
		return nil
	})
	return kept, stale, err
}
