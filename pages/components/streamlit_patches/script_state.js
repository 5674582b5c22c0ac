// Streamlit's state on its outermost element: whether the server is connected, and whether the script runs.

const stateOfStreamlit = () => document.querySelector('[data-testid="stApp"]')?.dataset ?? {};

const connected = () => stateOfStreamlit().testConnectionState === "CONNECTED";

const drawing = () => stateOfStreamlit().testScriptState === "running";
