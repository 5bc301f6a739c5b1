"""Pictures of what a person meets, each reached by keys and by what a server sends."""
