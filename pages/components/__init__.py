"""The components of pages: the only place with streamlit besides app.py and the pages."""
