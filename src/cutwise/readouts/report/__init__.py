"""The report: a summary of a fitted model and a table as plain data, written as HTML, Markdown or JSON."""
