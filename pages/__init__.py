"""The app's pages; each is a script that Streamlit runs. Knows streamlit, stands on storage and conductor."""
