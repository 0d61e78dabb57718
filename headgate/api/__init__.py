"""The front door: `import headgate` shows what is here. Nothing heavy is imported before it is used."""
