"""What is put to the solvers, for any number of users and any horizon: a module for each part of the specification."""
