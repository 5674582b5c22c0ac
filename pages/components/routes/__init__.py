"""What the app's server answers beside Streamlit's own pages."""
