"""What is searched through: shortest runs, small worlds without end, wrong constructions, and the errata."""
