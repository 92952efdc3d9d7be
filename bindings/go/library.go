package durward

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"
)

// libraryVersion is that of the C library that this package is for, major and minor: before 1.0 each may have other functions.
const libraryVersion = "0.1"

// library is the C library, once it is loaded. It stays loaded.
var library struct {
	sync.Mutex
	functions *functions
}

// Version gives the version of the C library, and loads it if that has not been done.
func Version() (string, error) {
	f, err := load()
	if err != nil {
		return "", err
	}
	return f.versionOf(), nil
}

// LoadFile loads the C library from this file, and looks nowhere else. It comes before anything else: a library that is loaded stays.
func LoadFile(path string) error {
	library.Lock()
	defer library.Unlock()
	if library.functions != nil {
		return &Error{CodeLibrary, "the library is loaded already"}
	}
	// The loader looks for a name without a slash elsewhere.
	absolute, err := filepath.Abs(path)
	if err != nil {
		return &Error{CodeLibrary, err.Error()}
	}
	loaded, err := open(absolute)
	if err != nil {
		return err
	}
	library.functions = loaded
	return nil
}

// LoadBytes loads a C library that the program carries in itself:
//
//	//go:embed libdurward.so
//	var library []byte
//
// It is written to a new folder for temporary files that no other user can write to, loaded, and removed.
func LoadBytes(content []byte) error {
	folder, err := os.MkdirTemp("", "durward-")
	if err != nil {
		return &Error{CodeLibrary, err.Error()}
	}
	defer os.RemoveAll(folder)
	file := filepath.Join(folder, fileName())
	if err := os.WriteFile(file, content, 0o500); err != nil {
		return &Error{CodeLibrary, err.Error()}
	}
	return LoadFile(file)
}

// load finds the library when it is first needed. Where there is none, the next call looks again.
func load() (*functions, error) {
	library.Lock()
	defer library.Unlock()
	if library.functions != nil {
		return library.functions, nil
	}
	loaded, err := find()
	if err != nil {
		return nil, err
	}
	library.functions = loaded
	return loaded, nil
}

// find looks where DURWARD_LIBRARY says, and nowhere else then; otherwise beside the program, then where the system has its libraries.
func find() (*functions, error) {
	if path := os.Getenv("DURWARD_LIBRARY"); path != "" {
		absolute, err := filepath.Abs(path)
		if err != nil {
			return nil, &Error{CodeLibrary, "DURWARD_LIBRARY: " + err.Error()}
		}
		return open(absolute)
	}
	var failures []string
	for _, place := range places() {
		if filepath.IsAbs(place) {
			if _, err := os.Stat(place); errors.Is(err, fs.ErrNotExist) {
				failures = append(failures, "no "+place)
				continue
			}
		}
		found, err := open(place)
		if err == nil {
			return found, nil
		}
		failures = append(failures, strings.TrimPrefix(err.Error(), "durward: "))
	}
	advice := "; set DURWARD_LIBRARY to the file, or put it beside the program"
	return nil, &Error{CodeLibrary, "no C library: " + strings.Join(failures, "; ") + advice}
}

// places are files, and names that the loader of the system looks for, the best first.
func places() []string {
	var found []string
	if program, err := os.Executable(); err == nil {
		found = append(found, filepath.Join(filepath.Dir(program), fileName()))
	}
	if runtime.GOOS == "linux" {
		found = append(found, fileName()+"."+libraryVersion)
	}
	return append(found, fileName())
}

func fileName() string {
	if runtime.GOOS == "darwin" {
		return "libdurward.dylib"
	}
	return "libdurward.so"
}

// open loads one file, and looks whether it is a library that this package can call.
func open(path string) (*functions, error) {
	if unsafe.Sizeof(uintptr(0)) != 8 {
		return nil, &Error{CodeLibrary, "there is a package for 64-bit systems only"}
	}
	handle, err := dlopen(path)
	if err != nil {
		return nil, &Error{CodeLibrary, fmt.Sprintf("cannot load %s: %v", path, err)}
	}
	f := new(functions)
	for name, place := range f.byName() {
		if *place, err = dlsym(handle, name); err != nil {
			return nil, &Error{CodeLibrary, fmt.Sprintf("%s has no function `%s`", path, name)}
		}
	}
	version := f.versionOf()
	if !strings.HasPrefix(version, libraryVersion+".") {
		message := fmt.Sprintf("%s is version %s, and this package needs %s", path, version, libraryVersion)
		return nil, &Error{CodeLibrary, message}
	}
	return f, nil
}

// versionOf reads a text that ends with a zero.
func (f *functions) versionOf() string {
	address, _, _ := purego.SyscallN(f.version)
	version := []byte(nil)
	for at := address; at != 0 && len(version) < 64; at++ {
		next := *(*byte)(pointer(at))
		if next == 0 {
			break
		}
		version = append(version, next)
	}
	return string(version)
}
