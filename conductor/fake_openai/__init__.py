"""The shipped fake of an OpenAI endpoint: the protocol over real HTTP, without a model.

Made-up answers, the same for the same request, and misbehaviour on command. Stands alone: it shares no
code with what it is there to try.
"""
