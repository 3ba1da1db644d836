package command

// DrawGrid lays the rows of a grid out for the screen of a watch.
var DrawGrid = drawGrid
