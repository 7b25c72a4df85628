"""The Transformer itself: attention, masks, positions, layers, and the whole model."""
