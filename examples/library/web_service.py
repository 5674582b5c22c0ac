"""A run's events as a web service, a line each: uvicorn --app-dir examples/library web_service:app"""

from fastapi import FastAPI
from fastapi.responses import StreamingResponse

from conductor import astream

app = FastAPI()


@app.get("/ask")
async def ask(query: str) -> StreamingResponse:
    lines = (f"{event.model_dump_json()}\n" async for event in astream(query))
    return StreamingResponse(lines, media_type="application/x-ndjson")
