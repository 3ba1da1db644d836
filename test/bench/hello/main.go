// Command hello is what the start-up of om is compared with: a Go process that
// does nothing else than say so.
package main

import "os"

func main() { _, _ = os.Stdout.WriteString("hello\n") }
