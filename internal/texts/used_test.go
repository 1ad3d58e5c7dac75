package texts

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// literals are the texts in quotation marks in the product's code, and those that are groups of words.
func literals(t *testing.T) map[string]bool {
	t.Helper()
	all := make(map[string]bool)
	for _, root := range []string{"../../cmd", "../../internal"} {
		require.NoError(t, filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.BasicLit:
					text, _ := strconv.Unquote(n.Value)
					all[text] = true
				case *ast.CallExpr: // b.word("client", state)
					if f, is := n.Fun.(*ast.SelectorExpr); is && f.Sel.Name == "word" {
						if lit, is := n.Args[0].(*ast.BasicLit); is {
							group, _ := strconv.Unquote(lit.Value)
							all[group+"."] = true
						}
					}
				}
				return true
			})
			return nil
		}))
	}
	return all
}

// TestEveryMessageIsUsed: its key is in the code, or begins what has a word put behind it, or other messages have such words.
func TestEveryMessageIsUsed(t *testing.T) {
	said := literals(t)
	for _, template := range english() {
		for _, text := range template {
			for _, m := range place.FindAllStringSubmatch(text, -1) {
				said[m[2]+"."] = true
			}
		}
	}
	for _, key := range Keys() {
		used := said[key]
		for i := range key {
			used = used || key[i] == '.' && said[key[:i+1]]
		}
		assert.True(t, used, "nobody says %s", key)
	}
}
