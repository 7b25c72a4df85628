"""Attention Lab: see what a real Transformer's attention does with your own sentence."""
