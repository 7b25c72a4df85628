"""The walk: one query's way through an attention site, each stage by lines that really run."""
