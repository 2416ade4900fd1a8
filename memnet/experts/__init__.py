"""One question, several answerers: a trained gate chooses among them, a mixture of experts."""
