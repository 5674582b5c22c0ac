"""What pages are made of: the only place with streamlit besides app.py and the pages."""
