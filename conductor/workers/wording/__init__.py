"""The texts of the research layout: ours, or those of a checkout of the research code."""
