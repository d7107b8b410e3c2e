"""What is right: Start-time Fair Queueing as an executable specification."""
