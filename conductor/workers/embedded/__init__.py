"""Language models on this machine: a process of this program serves a GGUF file by llama.cpp."""
