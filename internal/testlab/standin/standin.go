// Package standin plugs simulated devices into Wine, by the drivers in tools/windows/standin. On other systems it is empty.
package standin
