"""The Python API, which `import headgate` offers. Nothing heavy is imported before it is used."""
