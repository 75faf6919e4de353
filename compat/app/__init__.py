"""The use cases as plain functions: each wires the layers below together and returns values; none prints."""
