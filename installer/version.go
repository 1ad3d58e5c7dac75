package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

var versionShape = regexp.MustCompile(`^[0-9]+(\.[0-9]+){0,3}$`)

// installerVersion returns the part of the version that Windows Installer compares: three numbers. The version has at most four.
func (r Release) installerVersion() (string, error) {
	if !versionShape.MatchString(r.Version) {
		return "", fmt.Errorf("version %s: not one to four numbers with dots between them (docs/packaging.md, On Windows)", r.Version)
	}
	numbers := strings.Split(r.Version, ".")
	for i, limit := range []int{255, 255, 65535, 65535} {
		if i == len(numbers) {
			numbers = append(numbers, "0")
		}
		if n, err := strconv.Atoi(numbers[i]); err != nil || n > limit {
			return "", fmt.Errorf("version %s: Windows takes numbers up to 255.255.65535.65535", r.Version)
		}
	}
	return strings.Join(numbers[:3], "."), nil
}
