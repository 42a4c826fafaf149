package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

// versions are the versions of what this program is made of.
type versions struct {
	// Flyball is the version of the module. A build from a working tree has "(devel)", or a version
	// that Go derives from the commit.
	Flyball  string `json:"flyball"`
	Revision string `json:"revision,omitempty"`
	Modified bool   `json:"modified,omitempty"` // the working tree had changes
	Go       string `json:"go"`
	Platform string `json:"platform"`
	// Libraries are the modules of Kubernetes, by their paths.
	Libraries map[string]string `json:"libraries"`
}

// libraries are the modules of Kubernetes that a user may have to match.
var libraries = []string{
	"k8s.io/api", "k8s.io/apimachinery", "k8s.io/client-go", "k8s.io/apiextensions-apiserver", "sigs.k8s.io/controller-tools",
	"sigs.k8s.io/kustomize/api",
}

func newVersion() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of this program and of the libraries in it",
		Long: `Print the version of this program, of Go, and of the Kubernetes libraries that it is
built with. It asks no cluster.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if output != "text" && output != "json" {
				return fmt.Errorf("--output %q: there are text and json", output)
			}
			return cobra.NoArgs(cmd, args)
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			info, ok := debug.ReadBuildInfo()
			if !ok {
				return errors.New("this program was built without module support: it does not know its version")
			}
			return versionsOf(info).write(cmd.OutOrStdout(), output == "json")
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "text", "`FORMAT`: text or json")
	complete(cmd, "output", "text", "json")
	return cmd
}

// versionsOf reads the versions from the information that the build left.
func versionsOf(info *debug.BuildInfo) versions {
	v := versions{Flyball: info.Main.Version, Go: info.GoVersion, Platform: runtime.GOOS + "/" + runtime.GOARCH, Libraries: map[string]string{}}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	for _, m := range info.Deps {
		for _, name := range libraries {
			if m.Path != name {
				continue
			}
			version := m.Version
			if m.Replace != nil {
				version += " => " + strings.TrimSpace(m.Replace.Path+" "+m.Replace.Version)
			}
			v.Libraries[name] = version
		}
	}
	return v
}

func (v versions) write(out io.Writer, asJSON bool) error {
	if asJSON {
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		return e.Encode(v)
	}
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "flyball\t%s\n", v.Flyball)
	if v.Revision != "" {
		revision := v.Revision
		if v.Modified {
			revision += ", with changes"
		}
		fmt.Fprintf(t, "commit\t%s\n", revision)
	}
	fmt.Fprintf(t, "go\t%s %s\n", v.Go, v.Platform)
	for _, name := range libraries {
		if version, ok := v.Libraries[name]; ok {
			fmt.Fprintf(t, "%s\t%s\n", name, version)
		}
	}
	return t.Flush()
}
