// Package archtest holds the architecture as tests: which package may import
// which ([Layers]), what a package-level variable may be ([Globals]), that every
// package says what it is for ([Comments]), and what each binary is made of
// (cmd/<binary>/deps.txt).
//
// The checks read the sources and never compile them, for every platform at
// once. Each has a test with a violation it must find.
package archtest
