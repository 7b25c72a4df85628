"""The clinic: classic bugs of attention, broken and right, run on the user's own sentence."""
