"""The interfaces of other packages, so that a notebook changes one import."""
