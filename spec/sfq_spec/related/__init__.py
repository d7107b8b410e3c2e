"""The methods that the article compares itself with, each as a model of its own."""
