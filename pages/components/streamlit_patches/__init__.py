"""The app's only places that reach into Streamlit, one file each.

A file states which behaviour of Streamlit it works around. Its test shows that behaviour without the patch,
so the test fails when Streamlit no longer needs it; then the file and its test can be deleted.
"""
