"""What is shown, derived from sessions and runs. Pure; knows no streamlit."""
