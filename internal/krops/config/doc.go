// Package config is what a run is told: the file bootstrap.toml, the variables
// of the environment, and the values that follow from both.
//
// Each key and each variable is declared once, next to the field it fills.
// Decoding, the JSON Schema of editors and the reference page replay those
// declarations. The package reads no file and no process: it is given texts, a
// file system and a function that looks variables up.
package config
