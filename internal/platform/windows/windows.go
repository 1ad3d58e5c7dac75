// Package windows holds what several subjects share on Windows: device ids and properties, and the arrival and removal of devices.
package windows
