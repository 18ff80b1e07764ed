"""The test kit: a strict fake Messages API server, a scripted model, approvers, a temporary project."""

__all__: list[str] = []
