"""What Attention Lab costs, beside the libraries people use otherwise. One command each."""
