"""What is added to an answer: piecewise noise on the integers and on the reals."""
