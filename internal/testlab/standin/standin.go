// Package standin plugs make-believe devices into a Windows that runs under Wine, by the drivers of tools/windows/standin. On other
// systems it is empty.
package standin
