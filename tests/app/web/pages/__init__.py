"""The pages, asked over HTTP as a browser would, with a stand-in for GitHub and a real database."""
