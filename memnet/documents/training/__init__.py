"""Training of the controller, and questions made from documents."""
