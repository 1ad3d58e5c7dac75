// Package windows holds what several subjects share on Windows: what the ids of devices say of the hardware.
package windows
