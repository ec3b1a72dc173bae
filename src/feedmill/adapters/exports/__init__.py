"""Export files: one module per format."""
