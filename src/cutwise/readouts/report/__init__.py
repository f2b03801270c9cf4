"""The report: a summary of a fitted model and a table as plain data, and that as HTML, Markdown or JSON."""
