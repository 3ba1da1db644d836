package config

import (
	"io/fs"
	"time"
)

// ParseBool reads 1 t true 0 f false in any usual case; empty is false.
func ParseBool(s string) (bool, error) { panic("to write") }

// ParseSize reads a number of bytes: 10m and 10mib are binary, 10mb is decimal.
func ParseSize(s string) (int64, error) { panic("to write") }

// FormatSize prints bytes as [ParseSize] reads them, exactly.
func FormatSize(n int64) string { panic("to write") }

// ParseDuration reads concatenated <n><unit>, units ns us ms s m h d w y; a bare number is seconds.
func ParseDuration(s string) (time.Duration, error) { panic("to write") }

// FormatDuration prints a duration as [ParseDuration] reads it, exactly.
func FormatDuration(d time.Duration) string { panic("to write") }

// ParseShlex splits shell words.
func ParseShlex(s string) ([]string, error) { panic("to write") }

// ParseUmask reads an octal mask.
func ParseUmask(s string) (fs.FileMode, error) { panic("to write") }

// ParseFileMode reads three or four octal digits, setuid, setgid and sticky included.
func ParseFileMode(s string) (fs.FileMode, error) { panic("to write") }
