"""Pull requests, payloads and git servers as GitHub gives them."""
