//go:build !(darwin || freebsd || linux || netbsd)

package durward

import "errors"

var errNoLoader = errors.New("this system is not served")

func dlopen(string) (uintptr, error) { return 0, errNoLoader }

func dlsym(uintptr, string) (uintptr, error) { return 0, errNoLoader }
