package ipc

// maxSocketPath is how many bytes the kernel takes, less the one that ends them.
const maxSocketPath = 107
