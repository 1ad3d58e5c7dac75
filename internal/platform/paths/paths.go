// Package paths knows where files and sockets of agents belong.
package paths
