// Package writer tells whether somebody is writing a file in place.
package writer
