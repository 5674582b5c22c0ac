"""Routes that the app's server has beside Streamlit's own pages."""
