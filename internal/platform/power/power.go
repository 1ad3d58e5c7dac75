// Package power tells of sleep, and by which clock the machine runs.
package power
