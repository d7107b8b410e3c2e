"""A fleet of servers behind one order: who is next, where it goes, and what is taken in, each apart (article §5.2)."""
