"""View models, made of sessions and runs. Pure; knows no streamlit."""
