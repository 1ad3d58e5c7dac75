package main

import (
	"os"
	"path/filepath"
)

// inputs are the vendor's own: brand.yaml, and the files that it names.
func (b *Brand) inputs() (list []resource, err error) {
	for _, path := range append([]string{b.path, filepath.Join(b.folder, b.Product.Icon)}, b.files...) {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		list = append(list, resource{Name: filepath.Base(path), Digest: map[string]string{"sha256": checksum(data)}})
	}
	return list, nil
}
