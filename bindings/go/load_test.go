package durward_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"durward.io/durward"
)

// A process loads one library, so each of these runs in one of its own: TestLoading again, with the name of the way in DURWARD_TEST_WAY.
var ways = map[string]func() error{
	"found": func() error { return nil },
	"file":  func() error { return durward.LoadFile(os.Getenv("DURWARD_TEST_LIBRARY")) },
	"bytes": func() error {
		content, err := os.ReadFile(os.Getenv("DURWARD_TEST_LIBRARY"))
		if err != nil {
			return err
		}
		return durward.LoadBytes(content)
	},
	"other": func() error {
		for _, wrong := range []func() error{
			func() error { return durward.LoadFile("no such file") },
			func() error { return durward.LoadFile("") },
			func() error { return durward.LoadBytes([]byte("no library")) },
			func() error { return durward.LoadBytes(nil) },
		} {
			if err := wrong(); !errors.Is(err, durward.CodeLibrary) {
				return fmt.Errorf("what is no library was loaded: %w", err)
			}
		}
		return durward.LoadFile(os.Getenv("DURWARD_TEST_LIBRARY"))
	},
}

func TestLoading(t *testing.T) {
	if way := os.Getenv("DURWARD_TEST_WAY"); way != "" {
		if err := ways[way](); err != nil {
			t.Fatal(err)
		}
		if !isRight(policy(t, letsAnna), 1) {
			t.Error("what is loaded decides")
		}
		refused(t, durward.LoadFile(os.Getenv("DURWARD_TEST_LIBRARY")), durward.CodeLibrary, "loaded already")
		return
	}
	library := os.Getenv("DURWARD_LIBRARY")
	if library == "" {
		t.Skip("no DURWARD_LIBRARY")
	}
	beside := besides(t, library)
	folder := t.TempDir()
	loads := func(program, way string, environment ...string) {
		t.Helper()
		said, err := again(program, way, append(environment, "DURWARD_TEST_LIBRARY="+library, "TMPDIR="+folder))
		if err != nil {
			t.Errorf("%s: %v: %s", way, err, said)
		}
	}
	loads(os.Args[0], "found", "DURWARD_LIBRARY="+library)
	loads(beside, "found")
	loads(os.Args[0], "file")
	loads(os.Args[0], "bytes")
	loads(os.Args[0], "other")
	if left, err := filepath.Glob(filepath.Join(folder, "durward-*")); err != nil || len(left) > 0 {
		t.Error("what was unpacked stays", left, err)
	}
}

func TestTheErrorSaysWhereTheLibraryWasLookedFor(t *testing.T) {
	says := func(words []string, environment ...string) {
		t.Helper()
		said, err := again(os.Args[0], "found", environment)
		for _, word := range words {
			if err == nil || !strings.Contains(said, word) {
				t.Errorf("without `%s`: %s", word, said)
			}
		}
	}
	if _, err := again(os.Args[0], "found", nil); err == nil {
		t.Log("the system has a library, which was found")
	} else {
		says([]string{"no C library: no ", filepath.Dir(os.Args[0]), "set DURWARD_LIBRARY"})
	}
	says([]string{"cannot load /no/such/file"}, "DURWARD_LIBRARY=/no/such/file")
	if library, err := filepath.Glob("/lib/*/libc.so.6"); err == nil && len(library) > 0 {
		says([]string{"has no function `durward_"}, "DURWARD_LIBRARY="+library[0])
	}
}

// besides copies this program to where the library is beside it.
func besides(t *testing.T, library string) string {
	t.Helper()
	absolute, err := filepath.Abs(library)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	program := filepath.Join(folder, "program")
	if err := os.Symlink(absolute, filepath.Join(folder, "libdurward.so")); err != nil {
		t.Fatal(err)
	}
	from, err := os.Open(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	to, err := os.OpenFile(program, os.O_WRONLY|os.O_CREATE, 0o700)
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	if _, err := io.Copy(to, from); err != nil {
		t.Fatal(err)
	}
	return program
}

// again runs TestLoading in another process, which finds no library but as it is told.
func again(program, way string, environment []string) (string, error) {
	child := exec.Command(program, "-test.run=^TestLoading$")
	isOurs := func(variable string) bool { return strings.HasPrefix(variable, "DURWARD_LIBRARY=") }
	child.Env = append(slices.DeleteFunc(os.Environ(), isOurs), append(environment, "DURWARD_TEST_WAY="+way)...)
	said, err := child.CombinedOutput()
	return string(said), err
}
