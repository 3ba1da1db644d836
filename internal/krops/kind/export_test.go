package kind

// Own is for the fuzzer.
var Own = own
